/** Messages to the engine, which shows them beside the resource. */

import * as grpc from "@grpc/grpc-js";
import service from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import proto from "@pulumi/pulumi/proto/engine_pb.js";

import type { Log, Severity } from "./plugin.ts";

export class EngineLog {
  #client: service.EngineClient | undefined;

  constructor(address: string | undefined) {
    if (address !== undefined) {
      this.attach(address);
    }
  }

  /** The engine names its address again when it attaches to a running plugin. */
  attach(address: string): void {
    this.#client = new service.EngineClient(address, grpc.credentials.createInsecure());
  }

  /** The log of one resource. An ephemeral message is shown while its operation runs only. */
  of(urn: string): Log {
    return (severity, message, ephemeral = false) => {
      const request = new proto.LogRequest()
        .setSeverity(toSeverity(severity))
        .setMessage(message)
        .setUrn(urn)
        .setEphemeral(ephemeral);
      // Nobody is left to tell when the engine does not take a message.
      this.#client?.log(request, () => undefined);
    };
  }
}

function toSeverity(severity: Severity): proto.LogSeverity {
  const { DEBUG, INFO, WARNING, ERROR } = proto.LogSeverity;
  return { debug: DEBUG, info: INFO, warning: WARNING, error: ERROR }[severity];
}
