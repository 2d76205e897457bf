import assert from "node:assert/strict";
import { test } from "node:test";

import type { Properties } from "../plugin/values.ts";
import { isEnough } from "./interfaces.ts";
import { stateFrom } from "./state.ts";

function read(config: Properties, prior: Properties = {}): Properties {
  return stateFrom(prior, { vmid: 201, config, running: false, interfaces: [] });
}

test("options are read whatever their order and their type", () => {
  const state = read({
    ...{
      arch: "amd64",
      cores: 2,
      cpulimit: "1.5",
      memory: 640,
      swap: 0,
      onboot: 1,
      unprivileged: "1",
    },
    rootfs: "local-zfs:subvol-201-disk-0,replicate=1,size=8G",
    net1: "name=eth1,bridge=vmbr1,tag=7",
    net0: "name=eth0,bridge=vmbr0,gw=10.0.0.1,hwaddr=BC:24:11:00:00:01,ip=10.0.0.2/24",
    mp0: "local-zfs:subvol-201-disk-1,mp=/data,ro=1,size=2G",
    startup: "order=2,up=5",
    tags: "b;a",
    features: "nesting=1,mount=nfs;cifs",
    nameserver: "1.1.1.1 9.9.9.9",
    hostname: "bob",
  });
  assert.partialDeepStrictEqual(state, {
    cpu: { architecture: "amd64", cores: 2, limit: 1.5, units: 0 },
    memory: { dedicated: 640, swap: 0 },
    startOnBoot: true,
    unprivileged: true,
    protection: false,
    disk: {
      datastoreId: "local-zfs",
      size: 8,
      replicate: true,
      pathInDatastore: "local-zfs:subvol-201-disk-0",
    },
    mountPoints: [
      { path: "/data", readOnly: true, size: "2G", volume: "local-zfs:subvol-201-disk-1" },
    ],
    startup: { downDelay: -1, order: 2, upDelay: 5 },
    tags: ["a", "b"],
    features: { nesting: true, keyctl: false, mounts: ["nfs", "cifs"] },
    initialization: {
      hostname: "bob",
      dns: { domain: "", servers: ["1.1.1.1", "9.9.9.9"] },
      ipConfigs: [{ ipv4: { address: "10.0.0.2/24", gateway: "10.0.0.1" }, ipv6: null }],
    },
  });
  const networks = state["networkInterfaces"] as Properties[];
  assert.deepEqual(
    networks.map(({ name, macAddress, vlanId }) => [name, macAddress, vlanId]),
    [
      ["eth0", "BC:24:11:00:00:01", 0],
      ["eth1", "", 7],
    ],
  );
});

test("what Proxmox does not tell is kept", () => {
  const prior = {
    nodeName: "pve1",
    timeoutDelete: 90,
    operatingSystem: { templateFileId: "local:vztmpl/x", type: "debian" },
    initialization: { userAccount: { keys: ["k"] } },
  };
  assert.partialDeepStrictEqual(read({ ostype: "ubuntu" }, prior), {
    nodeName: "pve1",
    timeoutDelete: 90,
    operatingSystem: { templateFileId: "local:vztmpl/x", type: "ubuntu" },
    initialization: { userAccount: { keys: ["k"] } },
  });
});

test("raw keys do not show, but for an id map", () => {
  const lxc = [
    ["lxc.cgroup2.pids.max", "512"],
    ["lxc.idmap", "u 0 100000 65536"],
  ];
  const state = read({ lxc });
  assert.deepEqual(state["idmaps"], [{ containerId: 0, hostId: 100000, size: 65536, type: "uid" }]);
  assert.doesNotMatch(JSON.stringify(state), /pids/);
});

test("the first address of each kind is an output", () => {
  const address = (ip: string, type: string) => ({ "ip-address": ip, "ip-address-type": type });
  const interfaces = [
    { name: "lo", "ip-addresses": [address("127.0.0.1", "inet")] },
    {
      name: "eth0",
      "ip-addresses": [
        address("10.0.0.2", "inet"),
        address("10.0.0.3", "inet"),
        address("fe80::1", "inet6"),
      ],
    },
  ];
  const state = stateFrom({}, { vmid: 201, config: {}, running: true, interfaces });
  assert.deepEqual(state["ipv4"], { eth0: "10.0.0.2" });
  assert.ok(isEnough(interfaces, undefined));
  assert.ok(isEnough(interfaces, { ipv4: true, ipv6: false }));
  // An address that is valid on its link alone is none.
  assert.ok(!isEnough(interfaces, { ipv4: false, ipv6: true }));
});
