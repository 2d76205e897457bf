import { spawn, type SpawnOptions } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Root of the checkout. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

export interface RunResult {
  /** Exit code; 128 + signal number is not used: a signal counts as 1. */
  readonly code: number;
  /** What it printed on both streams, when it was captured. */
  readonly output: string;
}

/** Runs one program to its end, its output shown as it comes and captured as well. */
export function run(
  program: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      ...options,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const show = (stream: NodeJS.WriteStream) => (chunk: Buffer) => {
      output += chunk.toString();
      stream.write(chunk);
    };
    child.stdout?.on("data", show(process.stdout));
    child.stderr?.on("data", show(process.stderr));
    child.on("error", reject);
    child.on("close", (code) => {
      resolve({ code: code ?? 1, output });
    });
  });
}
