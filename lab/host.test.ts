import assert from "node:assert/strict";
import { test } from "node:test";

import { isThere, unsupported } from "./host.ts";

const release = (id: string, version: string) =>
  `PRETTY_NAME="${id} ${version}"\nID=${id}\nVERSION_ID="${version}"\n`;

test("Debian 12 and 13 and Ubuntu from 24.04 on are supported, on x86-64", () => {
  for (const [id, version] of [
    ["debian", "12"],
    ["debian", "13"],
    ["ubuntu", "24.04"],
    ["ubuntu", "26.10"],
  ] as const) {
    assert.equal(unsupported(release(id, version), "x64"), undefined, `${id} ${version}`);
  }
});

test("everything else gets one line that says what it is and what is supported", () => {
  for (const [text, arch, shown] of [
    [release("debian", "11"), "x64", "debian 11 on x86-64"],
    [release("ubuntu", "22.04"), "x64", "ubuntu 22.04 on x86-64"],
    [release("fedora", "42"), "x64", "fedora 42 on x86-64"],
    [release("debian", "13"), "arm64", "debian 13 on arm64"],
    ["", "x64", "an unknown system on x86-64"],
  ] as const) {
    const line = unsupported(text, arch) ?? "";
    assert.ok(line.includes(shown), line);
    assert.ok(!line.includes("\n"));
  }
});

test("a requirement is a file, or a program on PATH or where root's programs are", () => {
  assert.equal(isThere("/etc/os-release"), true);
  assert.equal(isThere("/etc"), false);
  assert.equal(isThere("sh", "/nowhere:/bin"), true);
  assert.equal(isThere("berth-no-such-program"), false);
});
