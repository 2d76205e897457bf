/** One command on a connection: its environment, input, output and exit. */

import { constants } from "node:os";

import type { Client, ClientChannel } from "ssh2";

import { sendEnvironment, type Variable } from "./environment.ts";

export type Stream = "stdout" | "stderr";

export interface Session {
  readonly command: string;
  readonly stdin: string;
  readonly environment: readonly Variable[];
  /** Told of output as it comes. */
  readonly onOutput: (stream: Stream, text: string) => void;
}

/** How the command ended, in the words of Go's SSH library; undefined for success. */
export type Failure = string | undefined;

export interface Finished {
  readonly stdout: string;
  readonly stderr: string;
  /** Both streams in the order of arrival. */
  readonly output: string;
  readonly failure: Failure;
}

export function runSession(client: Client, session: Session): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const sent = sendEnvironment(client, session.environment);
    client.exec(session.command, (error, channel) => {
      if (error === undefined) {
        // At once: the exit of a short command may be in the same packet.
        follow(channel, session, resolve);
      } else {
        reject(sent.refused ?? error);
      }
    });
  });
}

function follow(
  channel: ClientChannel,
  { stdin, onOutput }: Session,
  finish: (finished: Finished) => void,
): void {
  const chunks: { readonly stream: Stream; readonly data: Buffer }[] = [];
  const collect = (stream: Stream) => (data: Buffer) => {
    chunks.push({ stream, data });
    onOutput(stream, data.toString());
  };
  const text = (...streams: Stream[]): string =>
    Buffer.concat(
      chunks.filter(({ stream }) => streams.includes(stream)).map(({ data }) => data),
    ).toString();

  let failure: Failure = "wait: remote command exited without exit status or exit signal";
  channel.on("data", collect("stdout"));
  channel.stderr.on("data", collect("stderr"));
  channel.on("exit", (code: number | null, signal?: string, _core?: unknown, reason?: string) => {
    failure = describeExit(code, signal, reason);
  });
  channel.on("close", () => {
    const output = text("stdout", "stderr");
    finish({ stdout: text("stdout"), stderr: text("stderr"), output, failure });
  });
  // Input that the command does not read is no fault of it.
  channel.on("error", () => undefined);
  channel.end(stdin);
}

/** The text of Go's `ssh.ExitError`. */
export function describeExit(
  code: number | null,
  signal: string | undefined,
  reason: string | undefined,
): Failure {
  if (code === 0) {
    return undefined;
  }
  if (code !== null) {
    return `Process exited with status ${String(code)}`;
  }
  const name = (signal ?? "").replace(/^SIG/, "");
  const number = constants.signals[`SIG${name}` as NodeJS.Signals];
  const because = reason === undefined || reason === "" ? "" : `. Reason was: ${reason}`;
  return `Process exited with status ${String(128 + number)} from signal ${name}${because}`;
}
