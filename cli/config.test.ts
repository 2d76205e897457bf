import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { UserError } from "./errors.ts";
import { stackDocument } from "./stack-file.ts";
import { ROOT } from "./root.ts";

/** Runs the command line as a person does, without engine and secrets. */
function berth(...args: string[]) {
  return spawnSync(process.execPath, [join(ROOT, "cli/main.ts"), ...args], {
    encoding: "utf8",
    cwd: ROOT,
  });
}

function withFile<T>(text: string, use: (file: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), "berth-config-"));
  try {
    const file = join(directory, "Pulumi.x.yaml");
    writeFileSync(file, text);
    return use(file);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("the example fleet passes config check", () => {
  const { status, stdout, stderr } = berth("config", "check", "--file", "Pulumi.prod.yaml");
  assert.equal(status, 0, stderr);
  assert.match(
    stdout,
    /^Pulumi\.prod\.yaml is right: 4 agents\n {2}pve1: bob, alice, gordon, sven;/,
  );
});

test("config check says all faults with exit code 78 and no stack trace", () => {
  const broken = readFileSync(join(ROOT, "Pulumi.prod.yaml"), "utf8")
    .replace("vmid: 201", "vmid: 99")
    .replace("nofile: 65536", "nofile: 2000000");
  withFile(broken, (file) => {
    const { status, stderr } = berth("config", "check", "--file", file);
    assert.equal(status, 78);
    assert.match(
      stderr,
      /2 faults in .*\n {2}agents\.bob\.vmid: 99 .*\n {2}agents\.bob\.nofile: 2000000 /,
    );
    assert.doesNotMatch(stderr, /\n\s+at /);
    const json = berth("config", "check", "--json", "--file", file);
    assert.equal(json.status, 78);
    const result = JSON.parse(json.stdout) as { ok: boolean; faults: { path: string }[] };
    assert.equal(result.ok, false);
    assert.deepEqual(
      result.faults.map(({ path }) => path),
      ["agents.bob.vmid", "agents.bob.nofile"],
    );
  });
});

test("a file that is missing, is no YAML, or is no stack file is told apart", () => {
  const codeOf = (text: string | undefined) => {
    const read = (file: string) => {
      try {
        stackDocument(file);
      } catch (error) {
        assert.ok(error instanceof UserError);
        return [error.exitCode, error.message.replace(file, "FILE").split("\n")[0]?.slice(0, 20)];
      }
      return undefined;
    };
    return text === undefined ? read("/nonexistent/x.yaml") : withFile(text, read);
  };
  assert.deepEqual(codeOf(undefined), [66, "cannot read FILE: EN"]);
  assert.deepEqual(codeOf("a: [1"), [78, "FILE is not YAML: Fl"]);
  assert.deepEqual(codeOf("encryptionsalt: v1\n"), [78, "FILE has no config"]);
  assert.deepEqual(codeOf(""), [78, "FILE has no config"]);
});
