import { spawn } from "node:child_process";
import { constants } from "node:os";

import { UserError } from "./errors.ts";

/** Other programs, run to their end: arguments as a list, secrets on standard input only. */

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Text or bytes for standard input; none: the input is empty. */
  readonly input?: string | Buffer;
  /** Milliseconds after which the program is ended. */
  readonly timeout?: number;
  /** Whether its output is shown as it comes, besides being returned. */
  readonly show?: boolean;
  /** Called with every line of standard error and output as it comes. */
  readonly onLine?: (line: string) => void;
}

export interface ProgramResult {
  /** Exit code; a signal counts as -1. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, whatever its exit code is. */
export function run(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      timeout: options.timeout,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const collect = (stream: NodeJS.ReadableStream, terminal: NodeJS.WritableStream) => {
      const chunks: Buffer[] = [];
      let rest = "";
      stream.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if (options.show === true) {
          terminal.write(chunk);
        }
        if (options.onLine !== undefined) {
          const lines = (rest + chunk.toString()).split("\n");
          rest = lines.pop() ?? "";
          lines.forEach(options.onLine);
        }
      });
      return () => Buffer.concat(chunks).toString();
    };
    const stdout = collect(child.stdout, process.stdout);
    const stderr = collect(child.stderr, process.stderr);
    child.on("error", (error) => {
      reject(new UserError(`cannot run ${program}: ${error.message}`, { cause: error }));
    });
    child.on("close", (code) => {
      resolve({ code: code ?? -1, stdout: stdout(), stderr: stderr() });
    });
    // A program that ends without reading its input is not an error here: its exit code tells.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input);
  });
}

/** Runs a program that must succeed; its last lines are in the error. @returns standard output. */
export async function mustRun(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<string> {
  const result = await run(program, args, options);
  if (result.code !== 0) {
    const said = `${result.stdout}\n${result.stderr}`.trim().split("\n").slice(-15).join("\n  ");
    throw new UserError(`${program} failed (exit code ${String(result.code)}):\n  ${said}`);
  }
  return result.stdout;
}

/** Runs a program with this terminal. @returns its exit code; a signal's is 128 and its number. */
export function runHere(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: "inherit" });
    // The terminal's interrupt is the program's to handle: ending first would leave it without one.
    const ignore = () => undefined;
    process.on("SIGINT", ignore);
    child.on("error", (error) => {
      reject(new UserError(`cannot run ${program}: ${error.message}`, { cause: error }));
    });
    child.on("close", (code, signal) => {
      process.off("SIGINT", ignore);
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}

/** Program and arguments as root: as they are for root, else through sudo without a question. */
export function asRoot(
  program: string,
  args: readonly string[],
  uid: number | undefined = process.getuid?.(),
): [string, string[]] {
  return uid === 0 ? [program, [...args]] : ["sudo", ["-n", "--", program, ...args]];
}
