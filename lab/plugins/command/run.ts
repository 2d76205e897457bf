/** Runs one command over a connection of its own. */

import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { once } from "node:events";

import type { Log } from "../plugin/plugin.ts";
import { dial } from "./dial.ts";
import type { Variable } from "./environment.ts";
import { quote, trimNewline } from "./go-text.ts";
import type { CommandInputs, CommandOutputs, Logging } from "./inputs.ts";
import { runSession } from "./session.ts";

export async function runCommand(
  command: string,
  inputs: CommandInputs,
  previous: CommandOutputs,
  log: Log,
): Promise<CommandOutputs> {
  const connection = await dial(inputs.connection, (what, tries, limit) => {
    log("info", `${what} ${String(tries)}/${limit} failed: retrying`, true);
  });
  const shown = logged(inputs.logging);
  const lines = new PassThrough();
  const done = logLines(lines, log);
  try {
    const finished = await runSession(connection.client, {
      command,
      stdin: inputs.stdin ?? "",
      environment: environmentOf(inputs, previous, log),
      onOutput: (stream, text) => {
        if (shown.includes(stream)) {
          lines.write(text);
        }
      },
    });
    if (finished.failure !== undefined) {
      throw new Error(`${finished.failure}: running ${quote(command)}:\n${finished.output}`);
    }
    return { stdout: trimNewline(finished.stdout), stderr: trimNewline(finished.stderr) };
  } finally {
    lines.end();
    await done;
    connection.close();
  }
}

/** The streams that are shown while the command runs; both when nothing is said. */
export function logged(logging: Logging | undefined): readonly ("stdout" | "stderr")[] {
  switch (logging) {
    case "none":
      return [];
    case "stdout":
    case "stderr":
      return [logging];
    case "stdoutAndStderr":
    case undefined:
      return ["stdout", "stderr"];
  }
}

async function logLines(lines: PassThrough, log: Log): Promise<void> {
  const reader = createInterface({ input: lines });
  reader.on("line", (line) => {
    log("info", line, true);
  });
  await once(reader, "close");
}

/** What a server that refuses `environment` fails on, then the previous output, which it may. */
function environmentOf(
  inputs: CommandInputs,
  previous: CommandOutputs,
  log: Log,
): readonly Variable[] {
  const asked = Object.entries(inputs.environment ?? {}).map(([name, value]) => ({ name, value }));
  if (inputs.addPreviousOutputInEnv === false) {
    return asked;
  }
  const outputs = {
    PULUMI_COMMAND_STDOUT: previous.stdout,
    PULUMI_COMMAND_STDERR: previous.stderr,
  };
  return [
    ...asked,
    ...Object.entries(outputs)
      .filter(([, value]) => value !== "")
      .map(([name, value]) => ({
        name,
        value,
        onRefused: () => {
          log(
            "warning",
            `Unable to set '${name}'. This only works if your SSH server is configured to ` +
              "accept these variables via AcceptEnv.",
          );
        },
      })),
  ];
}
