import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { stackDocument } from "../../cli/stack-file.ts";
import { ROOT } from "../../cli/root.ts";
import { stackFileSchema } from "./json-schema.ts";
import { parseFleet } from "./load.ts";

interface Schema {
  readonly type?: string;
  readonly properties?: Record<string, Schema>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly pattern?: string;
  readonly description?: string;
  readonly $ref?: string;
}

const schema = stackFileSchema() as Schema;
const keys = schema.properties?.["config"]?.properties ?? {};

/** Every schema inside a schema, with its path. */
function walk(part: Schema, path: string): [string, Schema][] {
  return [
    [path, part],
    ...Object.entries(part.properties ?? {}).flatMap(([key, inner]) =>
      walk(inner, `${path}.${key}`),
    ),
    ...(typeof part.additionalProperties === "object"
      ? walk(part.additionalProperties, `${path}.*`)
      : []),
    ...(part.items ? walk(part.items, `${path}[]`) : []),
  ];
}

test("the schema names its draft and every key of a fleet", () => {
  assert.equal(Reflect.get(schema, "$schema"), "https://json-schema.org/draft/2020-12/schema");
  assert.deepEqual(Object.keys(keys).sort(), [
    "berth:access",
    "berth:agents",
    "berth:nodeKey",
    "berth:nodes",
    "berth:proxmox",
    "berth:proxmoxToken",
  ]);
  assert.deepEqual([...(schema.properties?.["config"]?.required ?? [])].sort(), [
    "berth:access",
    "berth:agents",
    "berth:nodes",
    "berth:proxmox",
  ]);
});

test("the schema stands alone: no reference, every object closed, every pattern an expression", () => {
  const parts = walk(schema, "").filter(([path]) => path.startsWith(".config.berth:"));
  assert.ok(parts.length > 60, String(parts.length));
  for (const [path, part] of parts) {
    assert.equal(part.$ref, undefined, path);
    assert.doesNotThrow(() => new RegExp(part.pattern ?? "", "u"), path);
    if (part.type === "object") {
      assert.notEqual(part.additionalProperties, undefined, path);
      assert.notEqual(part.additionalProperties, true, path);
    }
  }
});

test("an editor gets help for every key of an agent that is not an object", () => {
  const agent = keys["berth:agents"]?.additionalProperties as Schema;
  const silent = walk(agent, "")
    .filter(([, part]) => part.type !== "object" && part.type !== "array")
    .filter(([, part]) => part.description === undefined)
    .map(([path]) => path);
  // The words of a command speak for themselves.
  assert.deepEqual(silent, [".loops.*.command[]"]);
});

test("the fleet of Pulumi.prod.yaml is right and uses no key that the schema does not have", () => {
  const document = stackDocument(join(ROOT, "Pulumi.prod.yaml"));
  const fleet = parseFleet(document, "Pulumi.prod.yaml");
  assert.deepEqual(Object.keys(fleet.agents), ["bob", "alice", "gordon", "sven"]);
  assert.deepEqual(
    Object.keys(document).filter((key) => !Object.hasOwn(keys, `berth:${key}`)),
    [],
  );
});
