import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { readRuntime, type Runtime } from "./runtime.ts";

const FILES = {
  "node/apply.py": "print('apply')\n",
  "node/berth_node/lock.py": "LOCK = 1\n",
  "guest/gate.py": "print('gate')\n",
};

/** The runtime of a folder with these files. */
function runtimeOf(files: Readonly<Record<string, string>>, mode = 0o644): Runtime {
  const root = mkdtempSync(join(tmpdir(), "berth-runtime-"));
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
      chmodSync(join(root, path), mode);
    }
    return readRuntime(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

test("the runtime holds every program with its mode, and a hash for each half", () => {
  const runtime = runtimeOf(FILES, 0o755);
  assert.deepEqual(Object.keys(runtime.files).sort(), Object.keys(FILES).sort());
  assert.deepEqual(runtime.files["guest/gate.py"], { mode: "0755", content: "print('gate')\n" });
  assert.match(runtime.nodeHash, /^[0-9a-f]{12}$/);
  assert.match(runtime.guestHash, /^[0-9a-f]{12}$/);
  assert.notEqual(runtime.nodeHash, runtime.guestHash);
});

test("the hash does not depend on the checkout's umask, but on the executable bit", () => {
  const hash = runtimeOf(FILES, 0o644).nodeHash;
  assert.equal(runtimeOf(FILES, 0o600).nodeHash, hash);
  assert.equal(runtimeOf(FILES, 0o664).nodeHash, hash);
  assert.notEqual(runtimeOf(FILES, 0o755).nodeHash, hash);
});

test("tests and what tools leave behind are not shipped and do not change the hash", () => {
  const littered = runtimeOf({
    ...FILES,
    "node/test_apply.py": "x",
    "node/__pycache__/apply.cpython-311.pyc": "x",
    "node/.mypy_cache/3.11/cache.1.db": "x",
    "node/.ruff_cache/0.1/123": "x",
    "guest/.DS_Store": "x",
  });
  assert.deepEqual(littered, runtimeOf(FILES));
});

test("the hash of a half changes with a byte of it, and only that one", () => {
  const before = runtimeOf(FILES);
  const after = runtimeOf({ ...FILES, "guest/gate.py": "print('Gate')\n" });
  assert.equal(after.nodeHash, before.nodeHash);
  assert.notEqual(after.guestHash, before.guestHash);
  // Bytes that move from one file to the next are a change as well.
  assert.notEqual(
    runtimeOf({ "node/a.py": "12", "node/b.py": "3", "guest/g.py": "" }).nodeHash,
    runtimeOf({ "node/a.py": "1", "node/b.py": "23", "guest/g.py": "" }).nodeHash,
  );
});

test("the project's own runtime has the programs that the components call", () => {
  const { files } = readRuntime();
  for (const program of ["node/install.py", "node/prepare.py", "node/apply.py"]) {
    assert.ok(files[program], program);
  }
  // These are called by path, so the node needs them executable.
  for (const program of ["node/prepare.py", "node/apply.py", "guest/gate.py", "guest/berth"]) {
    assert.equal(files[program]?.mode, "0755", program);
  }
  assert.deepEqual(
    Object.keys(files).filter((path) => /test_|cache|\.pyc$/.test(path)),
    [],
  );
});
