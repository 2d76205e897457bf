/** What a stand-in provider is to the engine: a few resources with their operations. */

import type { Diff } from "./diff.ts";
import type { Failure } from "./schema.ts";
import type { Properties } from "./values.ts";

export type Severity = "debug" | "info" | "warning" | "error";

/** Says something about a resource to whoever watches the deployment. */
export interface Log {
  (severity: Severity, message: string, ephemeral?: boolean): void;
}

export interface Checked {
  readonly inputs: Properties;
  readonly failures: readonly Failure[];
}

export interface DiffRequest {
  readonly id: string;
  readonly state: Properties;
  readonly oldInputs: Properties;
  readonly inputs: Properties;
  /** Property paths whose changes do not count. */
  readonly ignoreChanges: readonly string[];
}

export interface CreateRequest {
  readonly name: string;
  readonly inputs: Properties;
  readonly preview: boolean;
  readonly log: Log;
}

export interface Created {
  readonly id: string;
  readonly outputs: Properties;
}

export interface UpdateRequest {
  readonly id: string;
  readonly state: Properties;
  readonly inputs: Properties;
  readonly ignoreChanges: readonly string[];
  readonly preview: boolean;
  readonly log: Log;
}

export interface ReadRequest {
  readonly id: string;
  readonly state: Properties;
  readonly inputs: Properties;
}

/** A resource as it was found; undefined when it is gone. */
export type Found = { readonly state: Properties; readonly inputs: Properties } | undefined;

export interface DeleteRequest {
  readonly id: string;
  readonly state: Properties;
  readonly log: Log;
}

export interface ResourceType {
  check(inputs: Properties): Checked;
  diff(request: DiffRequest): Diff;
  create(request: CreateRequest): Promise<Created>;
  read(request: ReadRequest): Promise<Found>;
  update(request: UpdateRequest): Promise<Properties>;
  delete(request: DeleteRequest): Promise<void>;
}

export interface Plugin {
  readonly name: string;
  readonly version: string;
  /** The resource types by token. */
  readonly resources: Readonly<Record<string, ResourceType>>;
  checkConfig(inputs: Properties): Checked;
  configure(inputs: Properties): void;
}

/** The resource exists, yet bringing it up failed: its state is kept and the next run goes on. */
export class InitializationError extends Error {
  readonly id: string;
  readonly outputs: Properties;

  constructor(message: string, id: string, outputs: Properties, options?: ErrorOptions) {
    super(message, options);
    this.id = id;
    this.outputs = outputs;
  }
}

/** The operations of a type, or an error that says what the stand-in has. */
export function resourceType(plugin: Plugin, token: string): ResourceType {
  const type = plugin.resources[token];
  if (type === undefined) {
    const offered = Object.keys(plugin.resources).join(", ");
    throw new Error(
      `this stand-in for the ${plugin.name} provider has only ${offered}, not ${token}; ` +
        `put the official plugin on PATH for the rest`,
    );
  }
  return type;
}
