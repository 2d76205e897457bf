import assert from "node:assert/strict";
import { test } from "node:test";

import { digestOf, ENGINE_VERSION, isNewEnough, pinnedVersion } from "./engine.ts";

test("the module builds the version that the lab asks for", () => {
  assert.equal(pinnedVersion(), ENGINE_VERSION);
});

test("an engine on PATH is used from 3.250 on, within its major version", () => {
  assert.equal(isNewEnough("3.250.0"), true);
  assert.equal(isNewEnough("3.276.0"), true);
  assert.equal(isNewEnough("3.249.9"), false);
  assert.equal(isNewEnough("4.0.0"), false);
});

test("the digest is that of the file with exactly this name", () => {
  const sums = "aa  pulumi-v1-linux-x64.tar.gz.sig\nbb  pulumi-v1-linux-x64.tar.gz\n";
  assert.equal(digestOf(sums, "pulumi-v1-linux-x64.tar.gz"), "bb");
  assert.equal(digestOf(sums, "pulumi-v1-darwin-x64.tar.gz"), undefined);
});
