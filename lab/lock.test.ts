import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { processIdentity, withLock } from "./lock.ts";
import { temporaryDirectory } from "../test/support/temporary.ts";

const file = () => join(temporaryDirectory("lock"), "sub", "lock");

test("the lock is held during the work and gone after it, also after a failure", async () => {
  const lock = file();
  assert.equal(await withLock(lock, { wait: 0 }, () => Promise.resolve(existsSync(lock))), true);
  assert.equal(existsSync(lock), false);
  await assert.rejects(
    withLock(lock, { wait: 0 }, () => Promise.reject(new Error("no"))),
    /^Error: no$/,
  );
  assert.equal(existsSync(lock), false);
});

test("a second owner is refused by name, or waits its turn", async () => {
  const lock = file();
  let release: () => void = () => undefined;
  const first = withLock(lock, { wait: 0 }, () => new Promise<void>((done) => (release = done)));
  await assert.rejects(
    withLock(lock, { wait: 0 }, () => Promise.resolve()),
    new RegExp(`process ${String(process.pid)}\\) is at work`),
  );
  let waitedFor = 0;
  const second = withLock(lock, { wait: 5_000, onWait: (pid) => (waitedFor = pid) }, () =>
    Promise.resolve("second"),
  );
  release();
  await first;
  assert.equal(await second, "second");
  assert.equal(waitedFor, process.pid);
});

test("a lock of a process that is gone, or of an earlier one with its number, is taken over", async () => {
  for (const owner of ["999999999 boot/1", `${String(process.pid)} another-boot/1`]) {
    const lock = file();
    await withLock(lock, { wait: 0 }, () => Promise.resolve());
    writeFileSync(lock, owner);
    assert.equal(await withLock(lock, { wait: 0 }, () => Promise.resolve(1)), 1);
  }
});

test("a process's identity is stable, and there is none for a number without a process", () => {
  assert.equal(processIdentity(process.pid), processIdentity(process.pid));
  assert.equal(processIdentity(999_999_999), undefined);
});
