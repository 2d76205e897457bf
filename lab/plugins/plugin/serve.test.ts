import assert from "node:assert/strict";
import { test } from "node:test";

import { resourceType, type Plugin } from "./plugin.ts";
import { parseUrn } from "./serve.ts";

test("a URN tells the resource's own type and name, below whatever parents", () => {
  const urn = "urn:pulumi:lab::berth::berth:index:Agent$command:remote:Command::bob::apply";
  assert.deepEqual(parseUrn(urn), { token: "command:remote:Command", name: "bob::apply" });
});

test("a resource that the stand-in lacks is refused with what it has", () => {
  const plugin = { name: "command", resources: { "command:remote:Command": {} } };
  assert.throws(
    () => resourceType(plugin as unknown as Plugin, "command:local:Command"),
    /only command:remote:Command, not command:local:Command/,
  );
});
