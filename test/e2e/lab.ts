import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import { ROOT } from "../../cli/root.ts";
import { LabPaths } from "../../lab/paths.ts";
import { shellWord } from "../../components/remote.ts";

/** The lab that the end-to-end tests have to themselves, driven as a person drives it. */

export const LAB = "lab-test";
export const paths = new LabPaths(LAB);

/** An emulated machine takes its time; a hang still ends. */
const MINUTE = 60_000;

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Both streams, for matching what a person would read. */
  readonly text: string;
}

/** Runs the operator's command, with the lab's name where the command takes one. */
export function berth(args: readonly string[], minutes = 30): Answer {
  return finish(spawnSync(join(ROOT, "berth"), args, options(minutes)));
}

/** `./berth lab up` that must succeed; its progress is shown as it comes, for it may take long. */
export function up(): Answer {
  const args = ["lab", "up", "--name", LAB];
  const answer = finish(
    spawnSync(join(ROOT, "berth"), args, { ...options(60), stdio: ["ignore", "pipe", "inherit"] }),
  );
  if (answer.code !== 0) {
    throw new Error(`lab up failed with ${String(answer.code)}:\n${answer.text.slice(-4000)}`);
  }
  return answer;
}

/** A command on the node, as root, over plain ssh with the published config. */
export function node(command: readonly string[], input = ""): Answer {
  return ssh("pve1", command, input);
}

/** A command in an agent's machine, as the agent, over plain ssh with the published config. */
export function guest(agent: string, command: readonly string[], input = ""): Answer {
  return ssh(agent, command, input);
}

/** Standard output of a command that must succeed. */
export function must(answer: Answer): string {
  if (answer.code !== 0) {
    throw new Error(`exit code ${String(answer.code)}:\n${answer.text}`);
  }
  return answer.stdout.trim();
}

export interface StackFile {
  config: Record<string, Record<string, Record<string, unknown>>>;
}

/** Changes the lab's stack file as a person with an editor would. */
export function editStack(change: (agents: Record<string, Record<string, unknown>>) => void): void {
  const document = parse(readFileSync(paths.stackFile, "utf8")) as StackFile;
  const agents = document.config["berth:agents"];
  if (!agents) {
    throw new Error(`${paths.stackFile} has no berth:agents`);
  }
  change(agents);
  writeFileSync(paths.stackFile, stringify(document));
}

/** Calls `probe` until it returns a value; fails after the deadline with what `probe` saw last. */
export async function eventually<T>(
  what: string,
  seconds: number,
  probe: () => T | undefined,
): Promise<T> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const value = probe();
    if (value !== undefined) {
      return value;
    }
    if (Date.now() > deadline) {
      throw new Error(`not within ${String(seconds)} s: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

function ssh(host: string, command: readonly string[], input: string): Answer {
  const config = paths.at("ssh_config");
  // One word a word: ssh joins its arguments with blanks and the far shell reads them again.
  return finish(
    spawnSync("ssh", ["-F", config, host, command.map(shellWord).join(" ")], {
      ...options(10),
      input,
    }),
  );
}

function options(minutes: number) {
  return {
    cwd: ROOT,
    encoding: "utf8" as const,
    timeout: minutes * MINUTE,
    maxBuffer: 64 * 2 ** 20,
  };
}

function finish(result: ReturnType<typeof spawnSync>): Answer {
  // A stream that was not captured is null, whatever the types say.
  const text = (stream: unknown) => (typeof stream === "string" ? stream : "");
  const stdout = text(result.stdout);
  const stderr = text(result.stderr) + (result.error ? `\n${result.error.message}` : "");
  return { code: result.status ?? -1, stdout, stderr, text: `${stdout}\n${stderr}` };
}
