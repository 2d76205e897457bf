import assert from "node:assert/strict";
import { test } from "node:test";

import { stableJson } from "./json.ts";

test("equal documents are equal bytes, whatever the order of their keys", () => {
  assert.equal(
    stableJson({ b: { d: 1, c: [{ y: 1, x: null }] }, a: "é\n" }),
    stableJson({ a: "é\n", b: { c: [{ x: null, y: 1 }], d: 1 } }),
  );
});

test("lists keep their order, and a document reads back as itself", () => {
  const document = { list: [3, 1, { b: true, a: false }], text: "x\ty", none: null };
  assert.deepEqual(JSON.parse(stableJson(document)), document);
});

test("each entry has a line of its own, so that a diff names it", () => {
  assert.equal(stableJson({ b: [1], a: {} }), '{\n "a": {},\n "b": [\n  1\n ]\n}');
});
