/** How `ContainerLegacy` makes and removes a container, and what is refused. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as pulumi from "@pulumi/pulumi";

import { ContainerFixture, requests, STOPPED } from "./container-fixture.ts";
import { BASE } from "./container-row.ts";
import { NODE } from "./proxmox-node.ts";
import { failure, ops, TestStack } from "./stack.ts";

const on = new ContainerFixture();

describe("a container's life", () => {
  test("it is made with one request that names every default", async () => {
    await on.stack.up(on.program({ ...STOPPED, description: "line\nother" }));
    const [create, ...others] = on.node.takeChanges();
    assert.deepEqual(others, []);
    assert.deepEqual(create, {
      method: "POST",
      path: `nodes/${NODE}/lxc`,
      form: {
        ...{ vmid: String(on.vmid), hostname: "bob", description: "line\nother" },
        ...{ ostemplate: BASE.operatingSystem.templateFileId, ostype: "debian" },
        ...{ arch: "amd64", cores: "1", cpulimit: "0", memory: "512", swap: "0" },
        ...{ cmode: "tty", console: "1", tty: "2", features: "nesting=1" },
        ...{ onboot: "1", protection: "0", start: "0", template: "0", unprivileged: "1" },
        ...{ storage: "local-zfs", rootfs: "volume=local-zfs:8", tags: "berth;berth-lab" },
        net0: "bridge=vmbr0,host-managed=0,ip=10.210.0.101/24,gw=10.210.0.1,name=eth0",
      },
    });
  });

  test("one that shall run is started in the same request, before anything can be added", async () => {
    await on.stack.up(on.program({}));
    const [create] = on.node.takeChanges();
    assert.equal(create?.form["start"], "1");
  });

  test("destroying shuts a running one down first", async () => {
    await on.stack.up(on.program({ timeoutDelete: 90 }));
    on.node.takeChanges();
    await on.stack.destroy();
    const changes = on.node.takeChanges();
    const path = `lxc/${String(on.vmid)}`;
    assert.deepEqual(requests(changes), [`POST ${path}/status/shutdown`, `DELETE ${path}`]);
    assert.deepEqual(changes[0]?.form, { forceStop: "1", timeout: "85" });
    assert.equal(on.node.config(on.vmid), undefined);
  });

  test("a preview knows the id and not what Proxmox will draw", async () => {
    const { steps } = await on.stack.preview(on.program(STOPPED));
    const { vmId, networkInterfaces } = steps[0]?.outputs ?? {};
    assert.equal(vmId, on.vmid);
    assert.doesNotMatch(JSON.stringify(networkInterfaces), /BC:24:11/);
    assert.deepEqual(on.node.takeChanges(), []);
  });

  test("the token is not in the state", async () => {
    const token = pulumi.secret(on.node.apiToken);
    await on.stack.up(on.program(STOPPED, {}, token));
    assert.ok(!on.stack.state().includes(on.node.apiToken));
  });

  test("a refresh without changes is followed by nothing to do", async () => {
    await on.stack.up(on.program(STOPPED));
    await on.stack.refresh();
    assert.deepEqual(ops(await on.stack.preview(on.program(STOPPED))), ["same"]);
  });
});

describe("what is refused", () => {
  test("a feature that a token may not set; the state takes it for set", async () => {
    await on.stack.up(on.program(STOPPED));
    on.node.takeChanges();
    const changed = { ...STOPPED, features: { nesting: false } };
    assert.match(
      await failure(on.stack.up(on.program(changed))),
      /HTTP 403 .*only allowed for root@pam/s,
    );
    const [change] = on.node.takeChanges();
    assert.equal(change?.form["features"], "fuse=0,keyctl=0,nesting=0,mknod=0");
    assert.match(on.node.config(on.vmid) ?? "", /^features: nesting=1$/m);
  });

  test("a smaller disk, which the preview calls an update", async () => {
    await on.stack.up(on.program(STOPPED));
    on.node.takeChanges();
    const smaller = on.program({ ...STOPPED, disk: { ...BASE.disk, size: 6 } });
    assert.deepEqual(ops(await on.stack.preview(smaller)), ["update"]);
    assert.match(
      await failure(on.stack.up(smaller)),
      /new disk size \(6G\) has to be greater than the current disk \(8G\)/,
    );
    assert.deepEqual(on.node.takeChanges(), []);
  });

  test("an input that the schema does not know", async () => {
    const mistyped = { ...STOPPED, cpu: { corez: 2 } };
    assert.match(await failure(on.stack.preview(on.program(mistyped))), /corez/);
  });

  test("values out of range, all at once", async () => {
    const wrong = { ...STOPPED, cpu: { cores: 500 }, memory: { dedicated: 8, swap: 0 } };
    const message = await failure(on.stack.preview(on.program(wrong)));
    assert.match(message, /cores/);
    assert.match(message, /dedicated/);
    assert.match(
      await failure(
        on.stack.preview(on.program({ ...STOPPED, initialization: { hostname: "a b" } })),
      ),
      /must be a valid DNS name/,
    );
  });

  test("what Proxmox refuses, with its reason and without state", async () => {
    const message = await failure(
      on.stack.up(on.program({ ...STOPPED, disk: { datastoreId: "nowhere", size: 8 } })),
    );
    assert.match(message, /nowhere/);
    assert.doesNotMatch(on.stack.state(), /containerLegacy/);
  });

  test("a wrong token, which is not in the error", async () => {
    const wrong = "root@pam!berth=00000000-1111-2222-3333-444444444444";
    const message = await failure(on.stack.up(on.program(STOPPED, {}, wrong)));
    assert.match(message, /HTTP 401/);
    assert.doesNotMatch(message, /00000000-1111/);
  });

  test("a certificate that is not trusted", async () => {
    const untrusting = await TestStack.create();
    try {
      const message = await failure(untrusting.up(on.program(STOPPED)));
      assert.match(message, /certificate/);
      assert.equal(on.node.config(on.vmid), undefined);
    } finally {
      untrusting.remove();
    }
  });
});
