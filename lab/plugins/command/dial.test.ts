import assert from "node:assert/strict";
import { test } from "node:test";

import { withRetry } from "./dial.ts";

async function tries(
  limit: number,
  failures: number,
): Promise<{ outcome: string; waits: number[] }> {
  const waits: number[] = [];
  let attempts = 0;
  const attempt = (): Promise<string> => {
    attempts += 1;
    return attempts > failures
      ? Promise.resolve("connected")
      : Promise.reject(new Error("refused"));
  };
  const sleep = (ms: number): Promise<void> => {
    waits.push(Math.round(ms));
    return Promise.resolve();
  };
  const outcome = await withRetry("Dial", limit, () => undefined, attempt, sleep).catch(
    (error: unknown) => String(error),
  );
  return { outcome, waits };
}

test("waits grow by half, up to five seconds", async () => {
  const { outcome, waits } = await tries(-1, 13);
  assert.equal(outcome, "connected");
  assert.deepEqual(waits.slice(0, 4), [100, 150, 225, 338]);
  assert.deepEqual(waits.slice(-2), [5000, 5000]);
});

test("as many errors as the limit are put up with", async () => {
  assert.equal((await tries(3, 3)).outcome, "connected");
  assert.equal((await tries(3, 4)).outcome, "Error: after 3 failed attempts: refused");
  assert.equal((await tries(0, 1)).outcome, "Error: after 0 failed attempts: refused");
});
