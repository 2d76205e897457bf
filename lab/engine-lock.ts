import { globSync, readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";

import { processIdentity } from "./lock.ts";

/**
 * Removes the engine's locks in a state directory whose engine is gone: it was killed, or ended
 * with its terminal. What it left half done is a pending operation, which the next `up` takes on.
 * A lock of another machine, or of a process that lives, is left alone.
 *
 * @returns the process numbers whose locks were removed.
 */
export function releaseDeadLocks(state: string): number[] {
  return globSync(join(state, ".pulumi/locks/**/*.json")).flatMap((file) => {
    const pid = deadOwner(readFileSync(file, "utf8"));
    if (pid === undefined) {
      return [];
    }
    rmSync(file, { force: true });
    return [pid];
  });
}

/** The process of a lock that was this machine's and is no more; undefined for any other lock. */
function deadOwner(text: string): number | undefined {
  let lock: { pid?: unknown; hostname?: unknown };
  try {
    lock = JSON.parse(text) as typeof lock;
  } catch {
    return undefined;
  }
  const isGone =
    typeof lock.pid === "number" &&
    lock.hostname === hostname() &&
    processIdentity(lock.pid) === undefined;
  return isGone ? (lock.pid as number) : undefined;
}
