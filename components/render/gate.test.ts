import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { bob } from "../../test/support/fleet.ts";
import { dispatcher, gateScript } from "./gate.ts";

const HASH = "0123456789ab";

test("the gate of an agent has its figures in it", () => {
  assert.equal(
    gateScript("bob", bob(), HASH),
    `#!/bin/sh
# Gate of agent bob: may one more session start? Written by Berth, changes here are lost.
exec /usr/lib/berth/0123456789ab/gate.py \\
  --agent bob \\
  --slice-high 671088640 \\
  --session-memory 134217728 \\
  --max-sessions 3 \\
  --tasks-max 896 \\
  "$@"
`,
  );
});

/** What a script would run, word by word: `exec` is replaced by a printer. */
function wordsOf(script: string, args: readonly string[]): string[] {
  const printing = `show() { printf '%s\\0' "$@"; exit; }\n${script.replaceAll("exec /", "show /")}`;
  const output = execFileSync("/bin/sh", ["-c", printing, "sh", ...args], { encoding: "utf8" });
  return output.split("\0").slice(0, -1);
}

test("the gate passes its own arguments on unchanged", () => {
  assert.deepEqual(wordsOf(gateScript("bob", bob(), HASH), ["check", "--json", "a b", ""]), [
    "/usr/lib/berth/0123456789ab/gate.py",
    ...["--agent", "bob", "--slice-high", "671088640", "--session-memory", "134217728"],
    ...["--max-sessions", "3", "--tasks-max", "896", "check", "--json", "a b", ""],
  ]);
});

test("the guest's berth command hands the gate to the agent's own and all else to the runtime", () => {
  assert.deepEqual(wordsOf(dispatcher(HASH), ["gate", "check", "a b"]), [
    "/etc/berth/gate",
    "check",
    "a b",
  ]);
  assert.deepEqual(wordsOf(dispatcher(HASH), ["session", "exec", "--", "x y"]), [
    "/usr/lib/berth/0123456789ab/berth",
    "session",
    "exec",
    "--",
    "x y",
  ]);
  assert.deepEqual(wordsOf(dispatcher(HASH), []), ["/usr/lib/berth/0123456789ab/berth"]);
});
