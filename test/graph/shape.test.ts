import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { EngineFailure, nameOf, TestFleet } from "../support/engine.ts";
import { agentDocument, fleetDocument } from "../support/fleet.ts";

const AGENTS = { bob: agentDocument(1), alice: agentDocument(2) };

interface StoredResource {
  readonly urn: string;
  readonly type: string;
  readonly parent?: string;
  readonly protect?: boolean;
  readonly deletedWith?: string;
  readonly custom: boolean;
  readonly replaceWith?: readonly string[];
}

let fleet: TestFleet;
before(async () => {
  fleet = await TestFleet.create();
});
after(() => {
  fleet.close();
});

function stored(): StoredResource[] {
  const state = JSON.parse(fleet.stateFile()) as {
    checkpoint: { latest: { resources: StoredResource[] } };
  };
  return state.checkpoint.latest.resources;
}

test("faults of the config are all said before the first resource, without a stack trace", async () => {
  await fleet.configureDocument({
    ...fleetDocument({ bob: agentDocument(1, { vmid: 99 }), Bad: agentDocument(2) }),
    agnets: {},
  });
  for (const operation of [() => fleet.preview(), () => fleet.up()]) {
    await assert.rejects(operation, (error: unknown) => {
      assert.ok(error instanceof EngineFailure);
      assert.match(
        error.message,
        /3 faults in the config of stack "lab-graph"; nothing was changed:/,
      );
      assert.match(error.message, /agents\.bob\.vmid: 99 is not right/);
      assert.match(error.message, /agents\.Bad: its name is not right/);
      assert.match(error.message, /agnets: no such key/);
      assert.doesNotMatch(error.message, /checks\.ts:\d|load\.ts:\d/);
      return true;
    });
  }
  assert.deepEqual(fleet.node.calls, []);
  assert.deepEqual(fleet.api.requests, []);
});

test("a first preview creates each resource once and touches nothing", async () => {
  await fleet.configure(AGENTS);
  const { summary } = await fleet.preview();
  // The stack itself is there since the update that the faults stopped.
  assert.deepEqual(summary, { create: 11, same: 1 });
  assert.equal(fleet.node.connections, 0);
  assert.deepEqual(
    fleet.api.requests.filter((request) => !request.startsWith("GET ")),
    [],
  );
});

test("an agent costs three custom resources, two connections and one request to create it", async () => {
  await fleet.up();
  const agents = fleet.node.calls.map(({ program, agent }) => `${program} ${agent}`).sort();
  assert.deepEqual(agents, [
    "apply alice",
    "apply bob",
    "install ",
    "prepare alice",
    "prepare bob",
  ]);
  assert.equal(fleet.node.connections, 5);
  assert.deepEqual(
    fleet.api.requests.filter((request) => !request.startsWith("GET ")),
    ["POST /nodes/pve1/lxc", "POST /nodes/pve1/lxc"],
  );
  const custom = stored().filter(({ custom: isCustom, urn }) => isCustom && /::bob(-|$)/.test(urn));
  assert.equal(custom.length, 3);
});

test("prepare comes before its container and apply after it", () => {
  for (const { program, agent, hasContainer } of fleet.node.calls) {
    assert.equal(hasContainer, program === "apply", `${program} ${agent}`);
  }
});

test("every custom resource but the provider belongs to a component", () => {
  const resources = stored().filter(({ custom, type }) => custom && !type.startsWith("pulumi:"));
  assert.equal(resources.length, 7);
  for (const { urn, parent } of resources) {
    assert.match(parent ?? "", /::berth:index:(Agent|Node)::/, urn);
  }
});

test("containers are protected, and what follows one is replaced with it", () => {
  const containers = stored().filter(({ type }) => type.startsWith("proxmoxve:"));
  assert.deepEqual(
    containers.map(({ protect }) => protect),
    [true, true],
  );
  for (const container of containers) {
    const apply = stored().find(({ urn }) => nameOf(urn) === `${nameOf(container.urn)}-apply`);
    assert.deepEqual(apply?.replaceWith, [container.urn]);
    assert.equal(apply.deletedWith ?? "", "");
  }
});

test("a second update and the previews around it change nothing and call nobody", async () => {
  const calls = fleet.node.calls.length;
  await fleet.preview({ expectNoChanges: true });
  assert.deepEqual((await fleet.up()).summary, { same: 12 });
  await fleet.preview({ expectNoChanges: true });
  assert.equal(fleet.node.calls.length, calls);
});

test("no secret is in the output, in the outputs, or plain in the state", async () => {
  // A change makes the engine say as much as it ever says.
  await fleet.configure({ ...AGENTS, bob: agentDocument(1, { cores: 3 }) });
  const said = [(await fleet.preview()).output, (await fleet.up()).output, await fleet.outputs()];
  const key = fleet.identity.sshKey.split("\n")[2] ?? "";
  const token = fleet.identity.token.split("=")[1] ?? "";
  assert.ok(key.length > 40 && token.length > 30);
  for (const text of [...said, fleet.stateFile(), ...fleet.node.calls.map((c) => c.document)]) {
    assert.ok(!text.includes(key));
    assert.ok(!text.includes(token));
    assert.ok(!text.includes("PRIVATE KEY"));
  }
});

test("nothing that is rendered has a hole in it", async () => {
  for (const text of [...fleet.node.calls.map((c) => c.document), await fleet.outputs()]) {
    assert.doesNotMatch(text, /undefined|\[object |Calling \[toString\]/);
  }
});
