import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { configReference } from "./reference.ts";

test("docs/config.md is what the schema says", () => {
  const page = readFileSync(new URL("../../docs/config.md", import.meta.url), "utf8");
  assert.equal(page, configReference(), "run ./berth config reference > docs/config.md");
});
