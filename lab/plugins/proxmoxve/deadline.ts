/** A point in time by which an operation has to be done. */

import { setTimeout as delay } from "node:timers/promises";

export class Deadline {
  readonly signal: AbortSignal;

  constructor(seconds: number) {
    this.signal = AbortSignal.timeout(seconds * 1000);
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  /** Waits, at most until the deadline. */
  async pause(ms: number): Promise<void> {
    try {
      await delay(ms, undefined, { signal: this.signal });
    } catch {
      // The caller looks at `isOver`.
    }
  }

  /** Asks again and again until there is an answer; `timedOut` is the error's text. */
  async poll<T>(
    ask: () => Promise<T | undefined>,
    timedOut: string,
    everyMs = POLL_MS,
  ): Promise<T> {
    for (;;) {
      if (this.isOver) {
        throw new Error(timedOut);
      }
      const answer = await ask();
      if (answer !== undefined) {
        return answer;
      }
      await this.pause(everyMs);
    }
  }
}

// Quicker than the official provider's second: most tasks in a lab are short.
const POLL_MS = 250;
