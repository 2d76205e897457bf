import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { temporaryDirectory } from "../test/support/temporary.ts";
import { releaseDeadLocks } from "./engine-lock.ts";

// Above the highest process number of the kernel, so nobody has it.
const NOBODY = 4_194_305;

function lockFile(content: string): { state: string; file: string } {
  const state = temporaryDirectory("engine-lock");
  const directory = join(state, ".pulumi/locks/organization/berth/lab");
  mkdirSync(directory, { recursive: true });
  const file = join(directory, "0000.json");
  writeFileSync(file, content);
  return { state, file };
}

test("the lock of an engine that is gone is removed", () => {
  const { state, file } = lockFile(JSON.stringify({ pid: NOBODY, hostname: hostname() }));
  assert.deepEqual(releaseDeadLocks(state), [NOBODY]);
  assert.equal(existsSync(file), false);
});

test("locks of a living process, of another machine, and unreadable ones stay", () => {
  for (const content of [
    JSON.stringify({ pid: process.pid, hostname: hostname() }),
    JSON.stringify({ pid: NOBODY, hostname: "elsewhere" }),
    "{",
  ]) {
    const { state, file } = lockFile(content);
    assert.deepEqual(releaseDeadLocks(state), []);
    assert.ok(existsSync(file), content);
  }
});

test("a state without locks is fine", () => {
  assert.deepEqual(releaseDeadLocks(temporaryDirectory("engine-lock")), []);
});
