import assert from "node:assert/strict";
import { test } from "node:test";

import { formatSize, parseSize, parseSpan } from "./units.ts";

test("a size is bytes by IEC units, whole or with a fraction", () => {
  assert.equal(parseSize("8GiB"), 8 * 2 ** 30);
  assert.equal(parseSize("512 MiB"), 512 * 2 ** 20);
  assert.equal(parseSize("1.5GiB"), 1.5 * 2 ** 30);
  assert.equal(parseSize("4096B"), 4096);
  assert.equal(parseSize("0B"), 0);
});

test("a size in any other form is not guessed", () => {
  for (const text of ["8G", "8GB", "8 gib", "8", "-1GiB", "1e3MiB", "", "GiB", "8GiB ", "0.3B"]) {
    assert.equal(parseSize(text), undefined, text);
  }
});

test("a size is written in the largest unit that keeps it exact", () => {
  assert.equal(formatSize(8 * 2 ** 30), "8GiB");
  assert.equal(formatSize(1.5 * 2 ** 30), "1.5GiB");
  assert.equal(formatSize(1536 * 2 ** 10), "1.5MiB");
  assert.equal(formatSize(1000), "1000B");
  assert.equal(formatSize(0), "0B");
});

test("every size that is written reads back as itself", () => {
  for (const bytes of [0, 1, 1000, 2 ** 10, 2 ** 20 + 2 ** 18, 3 * 2 ** 30, 2 ** 40, 2 ** 30 + 1]) {
    assert.equal(parseSize(formatSize(bytes)), bytes);
  }
});

test("a span adds up its parts as systemd does", () => {
  assert.equal(parseSpan("90s"), 90);
  assert.equal(parseSpan("15min"), 900);
  assert.equal(parseSpan("1h 30min"), 5400);
  assert.equal(parseSpan("1h30min"), 5400);
  assert.equal(parseSpan("2 days"), 172_800);
});

test("a span without a unit, of nothing, or of unknown units is none", () => {
  for (const text of ["90", "0s", "", "1 fortnight", "1.5h", "-1h", "h", "1h and 5min"]) {
    assert.equal(parseSpan(text), undefined, text);
  }
});
