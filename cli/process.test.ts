import assert from "node:assert/strict";
import { test } from "node:test";

import { asRoot, mustRun, run, runHere } from "./process.ts";

test("standard input arrives, and exit code and both streams come back", async () => {
  const result = await run("sh", ["-c", "cat; echo oops >&2; exit 3"], { input: "secret" });
  assert.deepEqual(result, { code: 3, stdout: "secret", stderr: "oops\n" });
});

test("a program that must succeed fails with its last lines, never with its input", async () => {
  const failing = mustRun("sh", ["-c", "cat >/dev/null; echo why >&2; exit 2"], {
    input: "hidden",
  });
  await assert.rejects(failing, (error: Error) => {
    assert.match(error.message, /exit code 2/);
    assert.match(error.message, /why/);
    assert.doesNotMatch(error.message, /hidden/);
    return true;
  });
});

test("a program that is not there, and one that takes too long, are errors", async () => {
  await assert.rejects(run("berth-no-such-program", []), /cannot run/);
  assert.equal((await run("sleep", ["30"], { timeout: 50 })).code, -1);
});

test("a program in this terminal passes its exit code on, a signal as the shell does", async () => {
  assert.equal(await runHere("sh", ["-c", "exit 7"]), 7);
  assert.equal(await runHere("sh", ["-c", "kill -TERM $$"]), 143);
});

test("only root needs no sudo", () => {
  assert.deepEqual(asRoot("rm", ["-r", "x"], 0), ["rm", ["-r", "x"]]);
  assert.deepEqual(asRoot("rm", ["-r", "x"], 1000), ["sudo", ["-n", "--", "rm", "-r", "x"]]);
});
