/**
 * Serves a plugin to the engine.
 *
 * The SDK's own server for providers hands neither the provider's configuration nor a detailed
 * diff through, and the rules under test are about both.
 */

import * as grpc from "@grpc/grpc-js";
import pluginProto from "@pulumi/pulumi/proto/plugin_pb.js";
import service from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import emptyProto from "google-protobuf/google/protobuf/empty_pb.js";

import { EngineLog } from "./engine-log.ts";
import { resourceType, type Plugin } from "./plugin.ts";
import { isInternal } from "./schema.ts";
import type { Properties } from "./values.ts";
import { fromStruct, toCheckResponse, toDiffResponse, toServiceError, toStruct } from "./wire.ts";

interface Urn {
  readonly token: string;
  readonly name: string;
}

/** The resource's own type and its logical name. */
export function parseUrn(urn: string): Urn {
  const [, , qualifiedType = "", ...name] = urn.slice("urn:pulumi:".length).split("::");
  return { token: qualifiedType.split("$").at(-1) ?? "", name: name.join("::") };
}

/** Answers the engine until it ends the process. */
export async function serve(plugin: Plugin, args: readonly string[]): Promise<void> {
  const log = new EngineLog(args.find((argument) => !argument.startsWith("-")));
  const server = new grpc.Server({ "grpc.max_receive_message_length": -1 });
  server.addService(service.ResourceProviderService, implement(plugin, log));
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) {
        resolve(bound);
      } else {
        reject(error);
      }
    });
  });
  process.stdout.write(`${String(port)}\n`);
}

function implement(plugin: Plugin, log: EngineLog): grpc.UntypedServiceImplementation {
  return {
    attach: handle((request: pluginProto.PluginAttach) => {
      log.attach(request.getAddress());
      return new emptyProto.Empty();
    }),
    getPluginInfo: handle(() => new pluginProto.PluginInfo().setVersion(plugin.version)),
    getSchema: handle(() => new proto.GetSchemaResponse().setSchema("{}")),
    cancel: handle(() => new emptyProto.Empty()),
    checkConfig: handle((request: proto.CheckRequest) =>
      toCheckResponse(plugin.checkConfig(fromStruct(request.getNews()))),
    ),
    diffConfig: handle(() => toDiffResponse({ changes: false, detailed: {} })),
    configure: handle((request: proto.ConfigureRequest) => {
      plugin.configure(fromStruct(request.getArgs()));
      return new proto.ConfigureResponse()
        .setAcceptsecrets(true)
        .setSupportspreview(true)
        .setAcceptresources(false)
        .setAcceptoutputs(false);
    }),
    check: handle((request: proto.CheckRequest) => {
      const type = resourceType(plugin, parseUrn(request.getUrn()).token);
      return toCheckResponse(type.check(fromStruct(request.getNews())));
    }),
    diff: handle((request: proto.DiffRequest) => {
      const type = resourceType(plugin, parseUrn(request.getUrn()).token);
      return toDiffResponse(
        type.diff({
          id: request.getId(),
          state: fromStruct(request.getOlds()),
          oldInputs: withoutInternal(fromStruct(request.getOldInputs())),
          inputs: withoutInternal(fromStruct(request.getNews())),
          ignoreChanges: request.getIgnorechangesList(),
        }),
      );
    }),
    create: handle(async (request: proto.CreateRequest) => {
      const { token, name } = parseUrn(request.getUrn());
      const created = await resourceType(plugin, token).create({
        name,
        inputs: fromStruct(request.getProperties()),
        preview: request.getPreview(),
        log: log.of(request.getUrn()),
      });
      return new proto.CreateResponse().setId(created.id).setProperties(toStruct(created.outputs));
    }),
    read: handle(async (request: proto.ReadRequest) => {
      const found = await resourceType(plugin, parseUrn(request.getUrn()).token).read({
        id: request.getId(),
        state: fromStruct(request.getProperties()),
        inputs: fromStruct(request.getInputs()),
      });
      // No id means that the resource is gone.
      return found === undefined
        ? new proto.ReadResponse()
        : new proto.ReadResponse()
            .setId(request.getId())
            .setProperties(toStruct(found.state))
            .setInputs(toStruct(found.inputs));
    }),
    update: handle(async (request: proto.UpdateRequest) => {
      const outputs = await resourceType(plugin, parseUrn(request.getUrn()).token).update({
        id: request.getId(),
        state: fromStruct(request.getOlds()),
        inputs: withoutInternal(fromStruct(request.getNews())),
        ignoreChanges: request.getIgnorechangesList(),
        preview: request.getPreview(),
        log: log.of(request.getUrn()),
      });
      return new proto.UpdateResponse().setProperties(toStruct(outputs));
    }),
    delete: handle(async (request: proto.DeleteRequest) => {
      await resourceType(plugin, parseUrn(request.getUrn()).token).delete({
        id: request.getId(),
        state: fromStruct(request.getProperties()),
        log: log.of(request.getUrn()),
      });
      return new emptyProto.Empty();
    }),
  };
}

/** A unary call by a function that may throw; the engine shows the error's message. */
function handle<Request, Response>(
  answer: (request: Request) => Response | Promise<Response>,
): grpc.handleUnaryCall<Request, Response> {
  return (call, callback) => {
    Promise.resolve()
      .then(() => answer(call.request))
      .then(
        (response) => {
          callback(null, response);
        },
        (error: unknown) => {
          callback(toServiceError(error));
        },
      );
  };
}

function withoutInternal(properties: Properties): Properties {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !isInternal(name)));
}
