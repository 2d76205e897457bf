import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { EngineFailure, TestFleet } from "../support/engine.ts";
import { agentDocument } from "../support/fleet.ts";

const FOREIGN = "arch: amd64\nhostname: mail\nmemory: 512\nostype: debian\ntags: production\n";

let fleet: TestFleet;
before(async () => {
  fleet = await TestFleet.create();
});
after(() => {
  fleet.close();
});

function writes(): string[] {
  return fleet.api.requests.filter((request) => !request.startsWith("GET "));
}

test("a VMID of somebody else's stops the update before anything is created", async () => {
  fleet.api.placeForeign(201, FOREIGN);
  await fleet.configure({ bob: agentDocument(1) });
  await assert.rejects(fleet.up(), (error: unknown) => {
    assert.ok(error instanceof EngineFailure);
    assert.match(error.message, /VMID 201 is taken by a container that is not ours/);
    return true;
  });
  assert.deepEqual(writes(), []);
  assert.equal(fleet.api.conf(201), FOREIGN);
});

test("taking the fleet down leaves the foreign machine as it is", async () => {
  await fleet.destroy();
  assert.deepEqual(writes(), []);
  assert.equal(fleet.api.conf(201), FOREIGN);
  assert.ok(fleet.node.calls.every(({ program }) => program !== "delete"));
});

test("a VMID that a machine on another node has is found as well", async () => {
  fleet.api.placeForeign(203, FOREIGN, "pve2");
  await fleet.configure({ gordon: agentDocument(3) });
  await assert.rejects(fleet.up(), /VMID 203 is taken/);
  assert.deepEqual(writes(), []);
});
