import assert from "node:assert/strict";
import { test } from "node:test";

import { cacheDir, LabPaths } from "./paths.ts";

test("the cache is where BERTH_CACHE says, else below XDG_CACHE_HOME, else below home", () => {
  assert.equal(cacheDir({ BERTH_CACHE: "/c", XDG_CACHE_HOME: "/x" }), "/c");
  assert.equal(cacheDir({ BERTH_CACHE: "", XDG_CACHE_HOME: "/x" }), "/x/berth");
  assert.match(cacheDir({}), /\/\.cache\/berth$/);
});

test("a lab's files are below the checkout, its stack file at the root", () => {
  const paths = new LabPaths("lab-2", "/repo");
  assert.equal(paths.at("state"), "/repo/.lab/lab-2/state");
  assert.equal(paths.stackFile, "/repo/Pulumi.lab-2.yaml");
});

test("a name that would leave the directory or take another stack's file is refused", () => {
  for (const name of [
    "prod",
    "../lab",
    "",
    "Lab",
    "lab/b",
    "lab-",
    "labor",
    "lab-..",
    `lab-${"x".repeat(28)}`,
  ]) {
    assert.throws(() => new LabPaths(name, "/repo"), /is not a name/, name);
  }
});
