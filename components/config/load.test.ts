import assert from "node:assert/strict";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";

import { agentDocument, fleetDocument } from "../../test/support/fleet.ts";
import { CANARY_KEY, CANARY_TOKEN, deploy } from "../../test/support/mocks.ts";
import { loadConfig } from "./load.ts";

test("the stack's config becomes a fleet, and its secrets stay secret", async () => {
  const { result } = await deploy(fleetDocument({ bob: agentDocument(1) }), loadConfig);
  assert.equal(result.fleet.agents["bob"]?.vmid, 201);
  assert.equal(await pulumi.isSecret(result.secrets.proxmoxToken), true);
  assert.ok(result.secrets.nodeKey);
  assert.equal(await pulumi.isSecret(result.secrets.nodeKey), true);
  assert.ok(!JSON.stringify(result.fleet).includes(CANARY_TOKEN));
  assert.ok(!JSON.stringify(result.fleet).includes(CANARY_KEY));
});

test("faults of the stack's config are one error that the engine shows without a stack", async () => {
  const document = { ...fleetDocument({ bob: agentDocument(1, { vmid: 7 }) }), agnets: {} };
  await assert.rejects(deploy(document, loadConfig), (error: unknown) => {
    assert.ok(pulumi.RunError.isInstance(error));
    assert.match(error.message, /^2 faults in the config of stack "test"; nothing was changed:/);
    assert.match(error.message, /\n {2}agnets: no such key/);
    assert.match(error.message, /\n {2}agents\.bob\.vmid: 7 is not right/);
    return true;
  });
});
