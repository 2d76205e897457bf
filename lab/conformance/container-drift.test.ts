/** How `ContainerLegacy` meets what others do, for better and worse. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type * as pulumi from "@pulumi/pulumi";

import { ContainerFixture, requests, STOPPED } from "./container-fixture.ts";
import { BASE } from "./container-row.ts";
import { NODE } from "./proxmox-node.ts";
import { ops } from "./stack.ts";

/** The options that the fleet's containers have. */
const FLEET: pulumi.CustomResourceOptions = {
  deleteBeforeReplace: true,
  ignoreChanges: [
    "mountPoints",
    "started",
    "operatingSystem.templateFileId",
    "disk.datastoreId",
    "memory",
  ],
};

const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJhbGljZSBhbmQgYm9iIGFuZCBjYXJvbCBkYXZlZQ== a@b";

const on = new ContainerFixture();

describe("losing a machine", () => {
  test("a VMID that somebody has is adopted in silence, and destroyed", async () => {
    await on.node.ask("POST", `nodes/${NODE}/lxc`, {
      vmid: String(on.vmid),
      ostemplate: BASE.operatingSystem.templateFileId,
      storage: "local-zfs",
      hostname: "somebody-else",
      unprivileged: "1",
    });
    await on.node.until(() => on.node.config(on.vmid)?.includes("somebody-else") === true);
    const { steps } = await on.stack.up(on.program(STOPPED));
    assert.deepEqual(
      steps.map(({ op }) => op),
      ["create"],
    );
    assert.deepEqual(requests(on.node.takeChanges()), ["POST lxc", "POST lxc"]);
    await on.stack.destroy();
    assert.equal(on.node.config(on.vmid), undefined);
  });

  test("replacing without deleteBeforeReplace leaves no container", async () => {
    await on.stack.up(on.program(STOPPED));
    const changed = {
      ...STOPPED,
      initialization: { ...BASE.initialization, userAccount: { keys: [KEY] } },
    };
    const { steps } = await on.stack.up(on.program(changed));
    assert.deepEqual(
      steps.map(({ op }) => op),
      ["create-replacement", "replace", "delete-replaced"],
    );
    assert.equal(on.node.config(on.vmid), undefined);
    assert.deepEqual(ops(await on.stack.preview(on.program(changed))), ["same"]);
  });

  test("with deleteBeforeReplace the old one goes first", async () => {
    const opts = { deleteBeforeReplace: true };
    await on.stack.up(on.program(STOPPED, opts));
    on.node.takeChanges();
    const changed = {
      ...STOPPED,
      initialization: { ...BASE.initialization, userAccount: { keys: [KEY] } },
    };
    await on.stack.up(on.program(changed, opts));
    const changes = requests(on.node.takeChanges());
    assert.deepEqual(changes, [`DELETE lxc/${String(on.vmid)}`, "POST lxc"]);
    assert.notEqual(on.node.config(on.vmid), undefined);
  });

  test("a mount point made by hand plans a replacement after a refresh", async () => {
    await on.stack.up(on.program(STOPPED));
    on.node.editConfig(
      on.vmid,
      (config) => `${config}mp0: local-zfs:subvol-9-disk-9,mp=/data,size=1G\n`,
    );
    assert.deepEqual(ops(await on.stack.preview(on.program(STOPPED))), ["same"]);
    await on.stack.refresh();
    const { steps } = await on.stack.preview(on.program(STOPPED));
    assert.deepEqual(steps.find(({ op }) => op === "replace")?.replaces, ["mountPoints"]);
    const ignoring = on.program(STOPPED, { ignoreChanges: ["mountPoints"] });
    assert.deepEqual(ops(await on.stack.preview(ignoring)), ["same"]);
  });

  test("one deleted by hand is noticed by a refresh only", async () => {
    await on.stack.up(on.program(STOPPED));
    await on.node.ask("DELETE", `nodes/${NODE}/lxc/${String(on.vmid)}`);
    await on.node.until(() => on.node.config(on.vmid) === undefined);
    assert.deepEqual(ops(await on.stack.preview(on.program(STOPPED))), ["same"]);
    await on.stack.refresh();
    assert.deepEqual(ops(await on.stack.preview(on.program(STOPPED))), ["create"]);
  });
});

describe("what others change", () => {
  test("raw keys are no drift, save for a hand-written idmap", async () => {
    await on.stack.up(on.program(STOPPED));
    on.node.editConfig(on.vmid, (config) => `${config}lxc.cgroup2.pids.max: 512\n`);
    await on.stack.refresh();
    assert.deepEqual(ops(await on.stack.preview(on.program(STOPPED))), ["same"]);
    on.node.editConfig(on.vmid, (config) => `${config}lxc.idmap: u 0 100000 65536\n`);
    await on.stack.refresh();
    const { steps } = await on.stack.preview(on.program(STOPPED));
    assert.match(steps[0]?.changed.join(" ") ?? "", /^idmaps/);
  });

  test("a started one is shut down again unless that is ignored", async () => {
    await on.stack.up(on.program(STOPPED));
    on.node.takeChanges();
    await on.node.ask("POST", `nodes/${NODE}/lxc/${String(on.vmid)}/status/start`);
    await on.node.until(async () => (await on.node.status(on.vmid)) === "running");
    await on.stack.refresh();
    const ignoring = on.program(STOPPED, { ignoreChanges: ["started"] });
    assert.deepEqual(ops(await on.stack.preview(ignoring)), ["same"]);
    const { steps } = await on.stack.up(on.program(STOPPED));
    assert.deepEqual(steps[0]?.changed, ["started"]);
    assert.deepEqual(requests(on.node.takeChanges()), [
      `POST lxc/${String(on.vmid)}/status/shutdown`,
    ]);
  });

  test("a fleet's container keeps what the node was told, whatever the program says", async () => {
    await on.stack.up(on.program(STOPPED, FLEET));
    on.node.takeChanges();
    const path = `nodes/${NODE}/lxc/${String(on.vmid)}`;
    await on.node.ask("PUT", `${path}/config`, { memory: "1024", swap: "256" });
    await on.node.ask("POST", `${path}/status/start`);
    await on.node.until(async () => (await on.node.status(on.vmid)) === "running");
    await on.stack.refresh();
    const changed = { ...STOPPED, memory: { dedicated: 2048, swap: 0 } };
    assert.deepEqual(ops(await on.stack.preview(on.program(changed, FLEET))), ["same"]);
    const { steps } = await on.stack.up(on.program({ ...changed, cpu: { cores: 2 } }, FLEET));
    assert.deepEqual(steps[0]?.changed, ["cpu.cores"]);
    const changes = on.node.takeChanges();
    assert.deepEqual(requests(changes), [`PUT lxc/${String(on.vmid)}/config`]);
    assert.deepEqual(changes[0]?.form, { arch: "amd64", cores: "2", delete: "cpulimit" });
    assert.match(on.node.config(on.vmid) ?? "", /^memory: 1024$/m);
    assert.deepEqual(ops(await on.stack.up(on.program({ ...changed, cpu: { cores: 2 } }, FLEET))), [
      "same",
    ]);
  });
});
