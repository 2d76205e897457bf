/**
 * What each change of a container does: the engine's operation, what the provider then asks of
 * Proxmox, and whether the guest is rebooted. The containers run before the change.
 */

import { BASE, GATEWAY, TEMPLATE, type Row } from "./container-row.ts";

const OTHER_TEMPLATE = "local:vztmpl/debian-12-standard_12.12-1_amd64.tar.zst";
const REBOOT = ["POST status/reboot"];
const UNUSED_NETWORKS = "net1 net2 net3 net4 net5 net6 net7 net8 net9";
const volume = { volume: "local-zfs", size: "2G", path: "/data" };

export const TABLE: readonly Row[] = [
  { title: "nothing", after: {}, op: "same" },
  {
    title: "the order of tags",
    after: { tags: ["berth-lab", "berth"] },
    op: "same",
  },
  {
    title: "blanks around the description",
    after: { description: " one\n" },
    op: "same",
  },
  // What makes another container.
  {
    title: "unprivileged",
    after: { unprivileged: false },
    op: "replace",
    replaces: ["unprivileged"],
  },
  {
    title: "operatingSystem.templateFileId",
    after: { operatingSystem: { templateFileId: OTHER_TEMPLATE, type: "debian" } },
    op: "replace",
    replaces: ["operatingSystem.templateFileId"],
  },
  {
    title: "disk.datastoreId",
    after: { disk: { datastoreId: "local", size: 8 } },
    op: "replace",
    replaces: ["disk.datastoreId"],
  },
  {
    title: "initialization.userAccount added",
    after: { initialization: { ...BASE.initialization, userAccount: { password: "hunter22" } } },
    op: "replace",
    replaces: ["initialization.userAccount"],
  },
  {
    title: "mountPoints added",
    after: { mountPoints: [volume] },
    op: "replace",
    replaces: ["mountPoints"],
  },
  {
    title: "mountPoints removed",
    before: { mountPoints: [volume] },
    after: { mountPoints: [] },
    op: "replace",
    replaces: ["mountPoints"],
  },
  {
    title: "mountPoints[].size",
    before: { mountPoints: [volume] },
    after: { mountPoints: [{ ...volume, size: "3G" }] },
    op: "replace",
    replaces: ["mountPoints[0].size"],
  },
  {
    title: "poolId",
    after: { poolId: "agents" },
    op: "replace",
    replaces: ["poolId"],
  },
  {
    title: "nodeName",
    after: { nodeName: "pve2" },
    op: "replace",
    replaces: ["nodeName"],
  },
  // What is changed in place and reboots the guest.
  {
    title: "memory.dedicated",
    after: { memory: { dedicated: 640, swap: 0 } },
    op: "update",
    config: { memory: "640", swap: "0" },
    requests: REBOOT,
  },
  {
    title: "memory.swap",
    after: { memory: { dedicated: 512, swap: 128 } },
    op: "update",
    config: { memory: "512", swap: "128" },
    requests: REBOOT,
  },
  {
    title: "initialization.hostname",
    after: { initialization: { ...BASE.initialization, hostname: "alice" } },
    op: "update",
    config: { hostname: "alice" },
    requests: REBOOT,
  },
  {
    title: "initialization.dns",
    after: {
      initialization: { ...BASE.initialization, dns: { servers: ["10.0.0.1", "10.0.0.2"] } },
    },
    op: "update",
    config: { nameserver: "10.0.0.1 10.0.0.2", delete: "searchdomain" },
    requests: REBOOT,
  },
  {
    title: "initialization.ipConfigs",
    after: {
      initialization: {
        ...BASE.initialization,
        ipConfigs: [{ ipv4: { address: "10.210.0.109/24", gateway: GATEWAY } }],
      },
    },
    op: "update",
    config: {
      net0: "bridge=vmbr0,firewall=0,host-managed=0,ip=10.210.0.109/24,gw=10.210.0.1,hwaddr=MAC,name=eth0",
      delete: UNUSED_NETWORKS,
    },
    requests: REBOOT,
  },
  {
    title: "networkInterfaces[].mtu",
    after: { networkInterfaces: [{ name: "eth0", bridge: "vmbr0", mtu: 1400 }] },
    op: "update",
    config: {
      net0: "bridge=vmbr0,firewall=0,host-managed=0,ip=10.210.0.101/24,gw=10.210.0.1,hwaddr=MAC,mtu=1400,name=eth0",
      delete: UNUSED_NETWORKS,
    },
    requests: REBOOT,
  },
  {
    title: "operatingSystem.type",
    after: { operatingSystem: { templateFileId: TEMPLATE, type: "ubuntu" } },
    op: "update",
    config: { ostype: "ubuntu" },
    requests: REBOOT,
  },
  {
    title: "console",
    after: { console: { ttyCount: 1 } },
    op: "update",
    config: { console: "1", cmode: "tty", tty: "1" },
    requests: REBOOT,
  },
  {
    title: "mountPoints[].readOnly",
    before: { mountPoints: [volume] },
    after: { mountPoints: [{ ...volume, readOnly: true }] },
    op: "update",
    requests: REBOOT,
  },
  // What is changed in place and does not.
  {
    title: "cpu.cores",
    after: { cpu: { cores: 2 } },
    op: "update",
    config: { arch: "amd64", cores: "2", delete: "cpulimit" },
  },
  {
    title: "features",
    after: { features: { nesting: false } },
    op: "update",
    refused: true,
  },
  {
    title: "disk.size, larger",
    after: { disk: { datastoreId: "local-zfs", size: 9 } },
    op: "update",
    config: {
      rootfs: "acl=0,size=9663676416,quota=0,replicate=0,volume=local-zfs:subvol-VMID-disk-0",
    },
    requests: ["PUT resize"],
  },
  {
    title: "description",
    after: { description: "two" },
    op: "update",
    config: { description: "two" },
  },
  {
    title: "description removed",
    after: { description: "" },
    op: "update",
    config: { description: "" },
  },
  {
    title: "tags",
    after: { tags: ["other", "berth"] },
    op: "update",
    config: { tags: "berth;other" },
  },
  {
    title: "tags removed",
    after: { tags: [] },
    op: "update",
    config: { tags: "" },
  },
  {
    title: "startup removed",
    before: { startup: { order: 2 } },
    after: {},
    without: ["startup"],
    op: "update",
    config: { delete: "startup" },
  },
  { title: "startOnBoot", after: { startOnBoot: false }, op: "update", config: { onboot: "0" } },
  { title: "protection", after: { protection: true }, op: "update", config: { protection: "1" } },
  {
    title: "startup",
    after: { startup: { order: 2 } },
    op: "update",
    config: { startup: "order=2" },
  },
  { title: "timeoutDelete", after: { timeoutDelete: 90 }, op: "update" },
  {
    title: "started, to false",
    after: { started: false },
    op: "update",
    requests: ["POST status/shutdown"],
  },
  {
    title: "started, to true",
    before: { started: false },
    after: { started: true },
    op: "update",
    requests: ["POST status/start"],
  },
];
