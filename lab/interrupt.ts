import { setTimeout as sleep } from "node:timers/promises";

import { UserError } from "../cli/errors.ts";

/** Ctrl-C in order: programs under way get the terminal's signal too and end, waits end, then all is tidied. */

const interruption = new AbortController();

/** A wait that an interruption ends. */
export async function pause(milliseconds: number): Promise<void> {
  await sleep(milliseconds, undefined, { signal: interruption.signal });
}

/** Runs work that may be interrupted; what it was doing is picked up by the same command later. */
export async function interruptible<T>(work: () => Promise<T>): Promise<T> {
  const interrupt = () => {
    interruption.abort();
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  try {
    return await work();
  } catch (error) {
    if (interruption.signal.aborted) {
      throw new UserError("interrupted; the same command picks up where this one ended", {
        exitCode: 130,
        cause: error,
      });
    }
    throw error;
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}
