import assert from "node:assert/strict";
import { test } from "node:test";

import { checkInputs, completeInputs, type Fields } from "./schema.ts";
import { isSecret, secret, UNKNOWN, type Properties } from "./values.ts";

const fields: Fields = {
  name: { type: "string", required: true, form: { pattern: /^[a-z]+$/, reason: "must be lower" } },
  size: { type: "integer", default: 4, range: [1, 8] },
  kind: { type: { oneOf: ["a", "b"] } },
  labels: { type: { map: "string" } },
  parts: { type: { array: { object: { key: { type: "string", secret: true } } } } },
};

const rows: readonly [string, Properties, readonly string[]][] = [
  ["what is right", { name: "x", size: 8, kind: "a", labels: { a: "b" }, parts: [{}] }, []],
  ["a missing property", {}, ["name"]],
  ["null for a required property", { name: null }, ["name"]],
  ["an unknown property", { name: "x", nam: "y" }, ["nam"]],
  ["an unknown nested property", { name: "x", parts: [{ keys: "k" }] }, ["parts[0].keys"]],
  [
    "wrong types",
    { name: 1, size: 1.5, labels: { a: 1 }, parts: {} },
    ["name", "size", "labels.a", "parts"],
  ],
  ["a value not in the list", { name: "x", kind: "c" }, ["kind"]],
  ["a number out of range", { name: "x", size: 9 }, ["size"]],
  ["a text of another form", { name: "X" }, ["name"]],
  ["what is not known yet", { name: UNKNOWN, size: UNKNOWN, parts: UNKNOWN }, []],
  ["a wrong secret", { name: secret(1) }, ["name"]],
  ["properties of the engine's own", { name: "x", version: "1", __defaults: [] }, []],
];

for (const [title, inputs, expected] of rows) {
  test(`checking ${title}`, () => {
    assert.deepEqual(
      checkInputs(fields, inputs).map(({ property }) => property),
      expected,
    );
  });
}

test("no value gets into a failure", () => {
  const failures = checkInputs(fields, {
    name: secret("HUNTER2"),
    size: secret(77),
    kind: "hunter2",
  });
  assert.equal(failures.length, 3);
  assert.doesNotMatch(JSON.stringify(failures), /hunter2|77/i);
});

test("completing fills defaults in and marks secrets, also further down", () => {
  const completed = completeInputs(fields, { name: "x", kind: null, parts: [{ key: "k" }] });
  assert.equal(completed["size"], 4);
  assert.equal("kind" in completed, false);
  const [part] = completed["parts"] as Properties[];
  assert.ok(isSecret(part?.["key"]));
});
