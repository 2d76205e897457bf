import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { UserError } from "../cli/errors.ts";
import { pause } from "./interrupt.ts";

/** Mutual exclusion between processes by a file that names its owner; a dead owner's is taken over. */

export interface LockOptions {
  /** Milliseconds to wait for another owner; 0 fails at once. */
  readonly wait: number;
  /** Called once when another process has to be waited for. */
  readonly onWait?: (pid: number) => void;
}

/** Runs `work` while no other process has the lock. */
export async function withLock<T>(
  file: string,
  options: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const deadline = Date.now() + options.wait;
  let told = false;
  while (!acquire(file)) {
    const owner = readOwner(file);
    if (owner !== undefined && !isAlive(owner)) {
      takeOver(file, owner);
      continue;
    }
    if (Date.now() >= deadline) {
      throw new UserError(
        `another berth (process ${owner?.split(" ")[0] ?? "unknown"}) is at work: ${file}`,
        { hint: "wait for it to end", exitCode: 75 },
      );
    }
    if (!told && owner !== undefined) {
      options.onWait?.(Number(owner.split(" ")[0]));
      told = true;
    }
    await pause(500);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function acquire(file: string): boolean {
  const own = `${file}.${String(process.pid)}`;
  writeFileSync(own, `${String(process.pid)} ${processIdentity(process.pid) ?? ""}`, {
    mode: 0o600,
  });
  try {
    // A link appears with its content or not at all: no one reads a half-written lock.
    linkSync(own, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") {
      return false;
    }
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

/** Removes a dead owner's lock, unless another process has been quicker and it is a live one's. */
function takeOver(file: string, deadOwner: string): void {
  const aside = `${file}.dead.${String(process.pid)}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (readOwner(aside) !== deadOwner) {
    linkSync(aside, file);
  }
  rmSync(aside, { force: true });
}

function readOwner(file: string): string | undefined {
  try {
    const text = readFileSync(file, "utf8");
    return text === "" ? undefined : text;
  } catch {
    return undefined;
  }
}

function isAlive(owner: string): boolean {
  const [pid, identity] = owner.split(" ");
  return processIdentity(Number(pid)) === identity;
}

/**
 * What tells a process from a later one with the same number: the boot and the start time.
 * Undefined when there is no such process.
 */
export function processIdentity(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // The second field is the program's name in parentheses and may hold spaces.
    const started = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
    return `${boot}/${started}`;
  } catch {
    return undefined;
  }
}
