import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { EngineFailure, TestFleet, type Ran } from "../support/engine.ts";
import { agentDocument, type Document } from "../support/fleet.ts";

let fleet: TestFleet;
before(async () => {
  fleet = await TestFleet.create();
  await fleet.configure({ bob: agentDocument(1), alice: agentDocument(2) });
  await fleet.up();
});
after(() => {
  fleet.close();
});

/** The fleet with these keys of bob's in place of the first ones. */
function configureBob(more: Document, node: Document = {}): Promise<void> {
  return fleet.configure({ bob: agentDocument(1, more), alice: agentDocument(2) }, node);
}

/** What changes, as `operation name`. */
function changes(ran: Ran): string[] {
  return ran.steps
    .filter(({ op }) => op !== "same")
    .map(({ op, name }) => `${op} ${name}`)
    .sort();
}

const hello = (word: string) => ({
  loops: { hello: { command: ["/bin/echo", word], every: "1h", timeLimit: "5min" } },
});

test("a changed loop is one update of its agent, and the preview shows the changed line", async () => {
  await configureBob(hello("goodbye"));
  const preview = await fleet.preview();
  assert.deepEqual(changes(preview), ["update bob-apply"]);
  assert.match(preview.output, /^.*-.*--name hello -- \/bin\/echo hello$/m);
  assert.match(preview.output, /^.*\+.*--name hello -- \/bin\/echo goodbye$/m);

  const calls = fleet.node.calls.length;
  assert.deepEqual(changes(await fleet.up()), ["update bob-apply"]);
  assert.deepEqual(
    fleet.node.calls.slice(calls).map(({ program, agent }) => `${program} ${agent}`),
    ["apply bob"],
  );
});

test("more memory is applied on the node, after an identity check, and no container is touched", async () => {
  await configureBob({ ...hello("goodbye"), memory: { max: "2GiB", high: "1GiB" } });
  assert.deepEqual(changes(await fleet.preview()), ["update bob-apply", "update bob-prepare"]);
});

test("a newer template or another datastore is for new machines only", async () => {
  const node = {
    template: "local:vztmpl/debian-13-standard_13.2-1_amd64.tar.zst",
    datastore: "local-lvm",
  };
  await configureBob(hello("goodbye"), node);
  const { steps } = await fleet.preview();
  assert.deepEqual(
    steps.filter(({ op, type }) => type.startsWith("proxmoxve:") && op !== "same"),
    [],
  );
});

test("what would replace a protected machine fails in the preview", async () => {
  await configureBob({ ...hello("goodbye"), vmid: 299, uid: 10_201 });
  await assert.rejects(fleet.preview(), (error: unknown) => {
    assert.ok(error instanceof EngineFailure);
    assert.match(error.message, /bob/);
    assert.match(error.message, /protect/);
    return true;
  });
});

test("with a reason a machine is replaced: stopped by apply, deleted, then made and applied anew", async () => {
  const calls = fleet.node.calls.length;
  const requests = fleet.api.requests.length;
  const bob = { ...hello("goodbye"), replace: "moves to another id" };
  await configureBob(bob);
  await fleet.up();
  await configureBob({ ...bob, vmid: 299, uid: 10_201 });
  await fleet.up();
  assert.deepEqual(
    fleet.node.calls
      .slice(calls)
      .map(({ program, agent, hasContainer }) => [program, agent, hasContainer]),
    [
      ["prepare", "bob", false],
      ["delete", "bob", true],
      ["apply", "bob", true],
    ],
  );
  const writes = fleet.api.requests
    .slice(requests)
    .filter((request) => !request.startsWith("GET "));
  assert.match(writes[0] ?? "", /^DELETE \/nodes\/pve1\/lxc\/201/);
  assert.equal(writes.at(-1), "POST /nodes/pve1/lxc");
  assert.equal(fleet.api.conf(201), undefined);
  assert.match(fleet.api.conf(299) ?? "", /^hostname: bob$/m);
});

test("an agent that leaves the config without having retired stops the preview", async () => {
  await fleet.configure({ bob: agentDocument(1, { ...hello("goodbye"), vmid: 299, uid: 10_201 }) });
  await assert.rejects(fleet.preview(), (error: unknown) => {
    assert.ok(error instanceof EngineFailure);
    assert.match(error.message, /alice/);
    assert.match(error.message, /protect/);
    return true;
  });
  assert.notEqual(fleet.api.conf(202), undefined);
});

test("a retired agent that leaves is stopped cleanly before its machine is deleted", async () => {
  const bob = agentDocument(1, { ...hello("goodbye"), vmid: 299, uid: 10_201 });
  await fleet.configure({ bob, alice: agentDocument(2, { retired: true }) });
  await fleet.up();
  const calls = fleet.node.calls.length;
  await fleet.configure({ bob });
  assert.deepEqual(changes(await fleet.up()), [
    "delete alice",
    "delete alice",
    "delete alice-apply",
    "delete alice-prepare",
  ]);
  assert.deepEqual(
    fleet.node.calls
      .slice(calls)
      .map(({ program, agent, hasContainer }) => [program, agent, hasContainer]),
    [["delete", "alice", true]],
  );
  assert.equal(fleet.api.conf(202), undefined);
});
