/** `command:remote:Command`: a command over SSH when a resource is made, changed and removed. */

import { randomBytes } from "node:crypto";

import { diffProperties, type Diff } from "../plugin/diff.ts";
import type {
  Checked,
  CreateRequest,
  Created,
  DeleteRequest,
  DiffRequest,
  Found,
  Log,
  ReadRequest,
  ResourceType,
  UpdateRequest,
} from "../plugin/plugin.ts";
import { checkInputs, completeInputs } from "../plugin/schema.ts";
import { equal, UNKNOWN, type Properties } from "../plugin/values.ts";
import { COMMAND_FIELDS, parseCommand, type CommandOutputs } from "./inputs.ts";
import { runCommand } from "./run.ts";

export class RemoteCommand implements ResourceType {
  check(inputs: Properties): Checked {
    return {
      inputs: completeInputs(COMMAND_FIELDS, inputs),
      failures: checkInputs(COMMAND_FIELDS, inputs),
    };
  }

  diff({ state, oldInputs, inputs, ignoreChanges }: DiffRequest): Diff {
    return diffCommand(oldInputs, keepIgnored(inputs, state, ignoreChanges));
  }

  async create({ name, inputs, preview, log }: CreateRequest): Promise<Created> {
    const id = name + randomBytes(4).toString("hex");
    if (preview) {
      return { id, outputs: { ...inputs, stdout: UNKNOWN, stderr: UNKNOWN } };
    }
    const { create } = parseCommand(inputs);
    const outputs = await run(create, inputs, { stdout: "", stderr: "" }, log);
    return { id, outputs: { ...inputs, ...outputs } };
  }

  /** There is nothing to ask the host: the state is what the last run said. */
  read({ state, inputs }: ReadRequest): Promise<Found> {
    return Promise.resolve({ state, inputs });
  }

  async update(request: UpdateRequest): Promise<Properties> {
    const { state, preview, log } = request;
    const inputs = keepIgnored(request.inputs, state, request.ignoreChanges);
    const { stdout = "", stderr = "" } = parseCommand(state);
    if (preview) {
      const unknown = changesOutput(state, inputs);
      return {
        ...inputs,
        stdout: unknown ? UNKNOWN : (state["stdout"] ?? stdout),
        stderr: unknown ? UNKNOWN : (state["stderr"] ?? stderr),
      };
    }
    const { create, update } = parseCommand(inputs);
    const outputs = await run(update ?? create, inputs, { stdout, stderr }, log);
    return { ...inputs, ...outputs };
  }

  /** Everything is taken from the old state: the command, its input and the connection. */
  async delete({ state, log }: DeleteRequest): Promise<void> {
    const { delete: command, stdout = "", stderr = "" } = parseCommand(state);
    await run(command, state, { stdout, stderr }, log);
  }
}

async function run(
  command: string | undefined,
  properties: Properties,
  previous: CommandOutputs,
  log: Log,
): Promise<CommandOutputs & Properties> {
  const { stdout, stderr } =
    command === undefined
      ? previous
      : await runCommand(command, parseCommand(properties), previous, log);
  return { stdout, stderr };
}

/** The inputs with those that shall not change as they are in the state. */
function keepIgnored(
  inputs: Properties,
  state: Properties,
  ignoreChanges: readonly string[],
): Properties {
  const kept = { ...inputs };
  for (const name of ignoreChanges) {
    const old = state[name];
    if (old !== undefined) {
      kept[name] = old;
    }
  }
  return kept;
}

/**
 * Any change of an input runs the command again. The provider itself replaces only when
 * `triggers` comes or goes; for a changed element the SDK asks for it (`triggers[*]`).
 */
export function diffCommand(oldInputs: Properties, inputs: Properties): Diff {
  const changes = diffProperties(oldInputs, inputs);
  return {
    changes: changes.size > 0,
    detailed: Object.fromEntries(
      Array.from(changes, ([path, kind]) => [path, { kind, replace: path === "triggers" }]),
    ),
  };
}

/**
 * Whether a preview has to call the output unknown: an input that the state has differs now.
 * An input that only comes in addition does not count, as in the official provider.
 */
export function changesOutput(state: Properties, inputs: Properties): boolean {
  return Object.keys(COMMAND_FIELDS).some(
    (name) => inputs[name] === UNKNOWN || (name in state && !equal(state[name], inputs[name])),
  );
}
