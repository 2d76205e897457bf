/** Between the engine's protobuf messages and plain values. */

import * as grpc from "@grpc/grpc-js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import statusProto from "@pulumi/pulumi/proto/status_pb.js";
import anyProto from "google-protobuf/google/protobuf/any_pb.js";
import structProto from "google-protobuf/google/protobuf/struct_pb.js";

import type { ChangeKind, Diff } from "./diff.ts";
import { InitializationError, type Checked } from "./plugin.ts";
import type { Properties } from "./values.ts";

type Struct = structProto.Struct;

export function fromStruct(struct: Struct | undefined): Properties {
  return struct?.toJavaScript() ?? {};
}

export function toStruct(properties: Properties): Struct {
  return structProto.Struct.fromJavaScript(properties);
}

export function toCheckResponse(checked: Checked): proto.CheckResponse {
  const response = new proto.CheckResponse();
  response.setInputs(toStruct(checked.inputs));
  for (const { property, reason } of checked.failures) {
    const failure = new proto.CheckFailure();
    failure.setProperty(property);
    failure.setReason(reason);
    response.addFailures(failure);
  }
  return response;
}

export function toDiffResponse(diff: Diff): proto.DiffResponse {
  const { DIFF_SOME, DIFF_NONE } = proto.DiffResponse.DiffChanges;
  const response = new proto.DiffResponse();
  response.setChanges(diff.changes ? DIFF_SOME : DIFF_NONE);
  response.setHasdetaileddiff(true);
  for (const [path, change] of Object.entries(diff.detailed)) {
    const property = new proto.PropertyDiff();
    property.setKind(propertyKind(change.kind, change.replace));
    response.getDetaileddiffMap().set(path, property);
    response.addDiffs(path);
    if (change.replace) {
      response.addReplaces(path);
    }
  }
  return response;
}

function propertyKind(kind: ChangeKind, replace: boolean): proto.PropertyDiff.Kind {
  const { Kind } = proto.PropertyDiff;
  switch (kind) {
    case "add":
      return replace ? Kind.ADD_REPLACE : Kind.ADD;
    case "delete":
      return replace ? Kind.DELETE_REPLACE : Kind.DELETE;
    case "update":
      return replace ? Kind.UPDATE_REPLACE : Kind.UPDATE;
  }
}

/** The gRPC error of a failed operation; one of a half-made resource carries its state. */
export function toServiceError(error: unknown): Partial<grpc.StatusObject> {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof InitializationError)) {
    return { code: grpc.status.UNKNOWN, details: message };
  }
  const detail = new proto.ErrorResourceInitFailed();
  detail.setId(error.id);
  detail.setProperties(toStruct(error.outputs));
  detail.addReasons(message);
  const any = new anyProto.Any();
  any.pack(detail.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
  const status = new statusProto.Status();
  status.setCode(grpc.status.UNKNOWN);
  status.setMessage(message);
  status.addDetails(any);
  // The field that gRPC libraries read structured errors from; this one has no call for it.
  const metadata = new grpc.Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(status.serializeBinary()));
  return { code: grpc.status.UNKNOWN, details: message, metadata };
}
