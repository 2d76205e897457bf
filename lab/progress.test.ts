import assert from "node:assert/strict";
import { test } from "node:test";
import { PassThrough } from "node:stream";

import { clock, createProgress } from "./progress.ts";

test("without a terminal every step is a plain line with the time since the beginning", async () => {
  const stream = new PassThrough();
  let now = 1_000;
  const progress = createProgress(stream, () => now);
  now += 61_000;
  assert.equal(await progress.step("Booting", () => Promise.resolve(7)), 7);
  assert.equal(String(stream.read()), "[1:01] Booting\n");
});

test("a step that fails ends with its own error", async () => {
  const progress = createProgress(new PassThrough());
  await assert.rejects(
    progress.step("x", () => Promise.reject(new Error("broken"))),
    /broken/,
  );
});

test("the clock counts minutes on, never hours", () => {
  assert.equal(clock(0), "0:00");
  assert.equal(clock(59_999), "0:59");
  assert.equal(clock(3_723_000), "62:03");
});
