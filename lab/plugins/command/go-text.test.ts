import assert from "node:assert/strict";
import { test } from "node:test";

import { quote, trimNewline } from "./go-text.ts";

const rows: readonly [string, string][] = [
  ["echo 'a'", `"echo 'a'"`],
  [`say "x\\y"`, String.raw`"say \"x\\y\""`],
  ["a\n\tb\u0000\u007f", String.raw`"a\n\tb\x00\x7f"`],
  ["é 語 😀 \u00a0", String.raw`"é 語 😀 \u00a0"`],
];

for (const [text, expected] of rows) {
  test(`%q of ${JSON.stringify(text)}`, () => {
    assert.equal(quote(text), expected);
  });
}

test("one newline is trimmed, not two", () => {
  assert.deepEqual(["a\n\n", "a\n", "a", ""].map(trimNewline), ["a\n", "a", "a", ""]);
});
