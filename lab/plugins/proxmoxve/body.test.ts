import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { Properties } from "../plugin/values.ts";
import { createBody, encodeBody, updateBody, type Body } from "./body.ts";
import { asContainer, type Container } from "./container.ts";
import { withDefaults } from "./inputs.ts";
import { gigabytes } from "./options.ts";

const TEMPLATE = "local:vztmpl/debian.tar.zst";

function container(inputs: Properties): Container {
  const required = { nodeName: "pve1", operatingSystem: { templateFileId: TEMPLATE } };
  return asContainer(withDefaults({ ...required, ...inputs }));
}

function update(inputs: Properties, ...changed: string[]): Body {
  const rootfs = { volume: "local:subvol-1-disk-0" };
  return updateBody(container(inputs), (property) => changed.includes(property), rootfs, true);
}

describe("creating", () => {
  test("with nothing but what must be", () => {
    assert.deepEqual(createBody(container({}), 201, false), {
      vmid: 201,
      ostemplate: TEMPLATE,
      ostype: "unmanaged",
      storage: "local",
      ...{ arch: "amd64", cores: 1, cpulimit: 0, memory: 512, swap: 0 },
      ...{ console: 1, cmode: "tty", tty: 2, onboot: 1, protection: 0, start: 1 },
      ...{ template: 0, unprivileged: 0 },
    });
  });

  test("lists, options and addresses are written as Proxmox reads them", () => {
    const body = createBody(
      container({
        description: "first\nsecond",
        tags: ["b", " a "],
        startup: { order: 1, upDelay: 5 },
        environmentVariables: { B: "2", A: "1" },
        features: { nesting: true, keyctl: true, mounts: ["nfs", "cifs"] },
        disk: { datastoreId: "zfs", size: 8, acl: true, mountOptions: ["noatime"] },
        mountPoints: [
          { volume: "zfs", size: "2G", path: "/data", readOnly: true },
          { volume: "/srv/x", path: "/x", replicate: false },
        ],
        initialization: {
          dns: { domain: "lan", servers: ["1.1.1.1", "9.9.9.9"] },
          hostname: "bob",
          ipConfigs: [
            { ipv4: { address: "dhcp" }, ipv6: { address: "fd00::2/64", gateway: "fd00::1" } },
          ],
          userAccount: { keys: ["k1", "k2"], password: "secret" },
        },
        networkInterfaces: [
          { name: "eth0", vlanId: 7, rateLimit: 1.5, firewall: true },
          { name: "eth1", bridge: "vmbr1", mtu: 1400 },
        ],
        devicePassthroughs: [{ path: "/dev/fuse", uid: 5 }],
      }),
      201,
      true,
    );
    assert.partialDeepStrictEqual(body, {
      description: "first\nsecond",
      tags: "a;b",
      startup: "order=1,up=5",
      env: "A=1\0B=2",
      features: "keyctl=1,mount=nfs;cifs,nesting=1",
      rootfs: "acl=1,mountoptions=noatime,volume=zfs:8",
      mp0: "mp=/data,ro=1,volume=zfs:2",
      mp1: "mp=/x,replicate=0,volume=/srv/x",
      searchdomain: "lan",
      nameserver: "1.1.1.1 9.9.9.9",
      hostname: "bob",
      "ssh-public-keys": "k1\nk2",
      password: "secret",
      net0: "bridge=vmbr0,firewall=1,host-managed=0,ip=dhcp,ip6=fd00::2/64,gw6=fd00::1,name=eth0,rate=1.50,tag=7",
      net1: "bridge=vmbr1,host-managed=0,mtu=1400,name=eth1",
      dev0: "deny-write=0,path=/dev/fuse,uid=5,gid=0,mode=0660",
    });
  });

  test("a node before 9.1 is not told of host-managed", () => {
    const body = createBody(container({ networkInterfaces: [{ name: "eth0" }] }), 201, false);
    assert.equal(body["net0"], "bridge=vmbr0,name=eth0");
  });
});

describe("updating", () => {
  test("nothing changed is an empty body", () => {
    assert.deepEqual(update({}), {});
  });

  test("memory brings swap, features bring all of them", () => {
    assert.deepEqual(update({ memory: { dedicated: 640 } }, "memory"), { memory: 640, swap: 0 });
    assert.deepEqual(update({ features: { nesting: true } }, "features"), {
      features: "fuse=0,keyctl=0,nesting=1,mknod=0",
    });
  });

  test("what is emptied is deleted", () => {
    assert.deepEqual(update({}, "cpu"), { arch: "amd64", cores: 1, delete: ["cpulimit"] });
    assert.deepEqual(update({ cpu: { limit: 1.5, units: 50 } }, "cpu"), {
      ...{ arch: "amd64", cores: 1, cpulimit: "1.5", cpuunits: 50 },
    });
    assert.deepEqual(update({}, "initialization.dns"), { delete: ["searchdomain", "nameserver"] });
    assert.deepEqual(update({}, "startup", "hookScriptFileId", "environmentVariables"), {
      delete: ["env", "hookscript", "startup"],
    });
  });

  test("a changed interface sends all and deletes the rest", () => {
    const body = update(
      { networkInterfaces: [{ name: "eth0" }, { name: "eth1", enabled: false }] },
      "networkInterfaces",
    );
    assert.deepEqual(body["delete"], [
      "net1",
      ...[2, 3, 4, 5, 6, 7, 8, 9].map((n) => `net${String(n)}`),
    ]);
  });

  test("a changed disk writes every flag of the root file system", () => {
    assert.deepEqual(update({ disk: { size: 1, mountOptions: ["b", "a"] } }, "disk"), {
      rootfs:
        "acl=0,size=1073741824,mountoptions=a;b,quota=0,replicate=0,volume=local:subvol-1-disk-0",
    });
  });
});

test("a body is encoded sorted, lists as repeated fields", () => {
  assert.equal(
    encodeBody({ b: "x y", a: 1, delete: ["net1", "net2"] }),
    "a=1&b=x+y&delete=net1&delete=net2",
  );
});

test("sizes are read in Proxmox's units", () => {
  assert.deepEqual(["8G", "512M", "1T", "1073741824", "x"].map(gigabytes), [8, 0.5, 1024, 1, NaN]);
});
