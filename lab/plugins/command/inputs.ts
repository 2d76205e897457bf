/** The inputs of `command:remote:Command`, as pulumi-command 1.2.1 has them. */

import type { Field, Fields } from "../plugin/schema.ts";
import { plain, type Properties } from "../plugin/values.ts";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
  readonly privateKey?: string;
  readonly privateKeyPassword?: string;
  readonly agentSocketPath?: string;
  readonly hostKey?: string;
  /** Errors put up with before giving up; -1 for any number. */
  readonly dialErrorLimit: number;
  /** Seconds for the TCP connection; 0 for no limit. */
  readonly perDialTimeout: number;
}

export interface Connection extends Endpoint {
  /** A host to go through. */
  readonly proxy?: Endpoint;
}

export type Logging = "stdout" | "stderr" | "stdoutAndStderr" | "none";

export interface CommandInputs {
  readonly connection: Connection;
  readonly create?: string;
  readonly update?: string;
  readonly delete?: string;
  readonly stdin?: string;
  readonly logging?: Logging;
  readonly environment?: Readonly<Record<string, string>>;
  readonly addPreviousOutputInEnv?: boolean;
}

export interface CommandOutputs {
  readonly stdout: string;
  readonly stderr: string;
}

const text: Field = { type: "string" };
const hidden: Field = { type: "string", secret: true };

const endpoint: Fields = {
  host: { type: "string", required: true },
  port: { type: "number", default: 22 },
  user: { type: "string", default: "root" },
  password: hidden,
  privateKey: hidden,
  privateKeyPassword: hidden,
  agentSocketPath: text,
  hostKey: text,
  dialErrorLimit: { type: "integer", default: 10 },
  perDialTimeout: { type: "integer", default: 15 },
};

export const COMMAND_FIELDS: Fields = {
  connection: {
    type: { object: { ...endpoint, proxy: { type: { object: endpoint } } } },
    required: true,
    secret: true,
  },
  create: text,
  update: text,
  delete: text,
  stdin: text,
  logging: { type: { oneOf: ["stdout", "stderr", "stdoutAndStderr", "none"] } },
  environment: { type: { map: "string" } },
  addPreviousOutputInEnv: { type: "boolean" },
  triggers: { type: { array: "any" } },
};

/** Checked inputs, or a state, as values in the clear. */
export function parseCommand(checked: Properties): CommandInputs & Partial<CommandOutputs> {
  return plain(checked) as unknown as CommandInputs & Partial<CommandOutputs>;
}
