import assert from "node:assert/strict";
import { test } from "node:test";

import { diffProperties } from "./diff.ts";
import { secret, type Properties } from "./values.ts";

const rows: readonly [string, Properties, Properties, Record<string, string>][] = [
  ["nothing", { a: 1, b: [true] }, { a: 1, b: [true] }, {}],
  ["a value", { a: 1 }, { a: 2 }, { a: "update" }],
  ["a new and an old property", { a: 1 }, { b: 1 }, { a: "delete", b: "add" }],
  ["null is none", { a: null }, {}, {}],
  ["a nested value", { a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { "a.c": "update" }],
  ["list elements", { a: [1, 2] }, { a: [1, 3, 4] }, { "a[1]": "update", "a[2]": "add" }],
  ["a name that is no identifier", { a: { "x-y": 1 } }, { a: {} }, { 'a["x-y"]': "delete" }],
  ["another type", { a: [1] }, { a: { b: 1 } }, { a: "update" }],
  ["a secret as a whole", { a: secret({ b: 1 }) }, { a: secret({ b: 2 }) }, { a: "update" }],
  ["the same secret", { a: secret({ b: 1 }) }, { a: secret({ b: 1 }) }, {}],
  ["what was not secret before", { a: { b: 1 } }, { a: secret({ b: 1 }) }, { a: "update" }],
];

for (const [title, olds, news, expected] of rows) {
  test(`the diff of ${title}`, () => {
    assert.deepEqual(Object.fromEntries(diffProperties(olds, news)), expected);
  });
}
