/**
 * The inputs of `ContainerLegacy` and of the provider, as pulumi-proxmoxve 8.6.0 has them, with
 * the defaults of the Terraform provider below it. What it only reports is not here.
 */

import type { Field, Fields, Type } from "../plugin/schema.ts";
import { DEFAULT_BLOCKS } from "./container.ts";

export const CONTAINER_TYPE = "proxmoxve:index/containerLegacy:ContainerLegacy";

const text: Field = { type: "string" };
const flag: Field = { type: "boolean" };
const off: Field = { type: "boolean", default: false };

function block(fields: Fields, more: Partial<Field> = {}): Field {
  return { type: { object: fields }, ...more };
}

function list(element: Type, more: Partial<Field> = {}): Field {
  return { type: { array: element }, ...more };
}

function seconds(value: number): Field {
  return { type: "integer", default: value };
}

const VMID_RANGE = [100, 2147483647] as const;
const MEMORY_LIMIT = 268435456;
const DNS_NAME =
  /^$|^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*$/;
const FILE_ID = /^$|^[a-z\d\-_.]+:([a-z\d\-_]+\/)?.+$/i;

const ARCHITECTURES = ["amd64", "arm64", "armhf", "i386"];
const OPERATING_SYSTEMS = [
  ...["alpine", "archlinux", "centos", "debian", "devuan", "fedora", "gentoo", "nixos"],
  ...["opensuse", "ubuntu", "unmanaged"],
];

const ipConfig = block({ address: text, gateway: text }, { default: null });

const initialization = block({
  dns: block({ domain: text, server: text, servers: list("string") }, { default: null }),
  entrypoint: text,
  hostname: { ...text, form: { pattern: DNS_NAME, reason: "must be a valid DNS name" } },
  ipConfigs: list({ object: { ipv4: ipConfig, ipv6: ipConfig } }, { default: [] }),
  userAccount: block(
    {
      keys: list("string", { replaces: true }),
      password: { ...text, secret: true, replaces: true },
    },
    { default: null, replaces: true },
  ),
});

const mountPoint: Fields = {
  acl: off,
  backup: off,
  mountOptions: list("string"),
  path: { ...text, required: true },
  pathInDatastore: text,
  quota: off,
  readOnly: off,
  replicate: { type: "boolean", default: true },
  shared: off,
  size: { ...text, replaces: true },
  volume: { ...text, required: true, replaces: true },
};

const networkInterface: Fields = {
  bridge: { type: "string", default: "vmbr0" },
  enabled: { type: "boolean", default: true },
  firewall: off,
  hostManaged: off,
  macAddress: text,
  mtu: { type: "integer", default: 0 },
  name: { ...text, required: true },
  rateLimit: { type: "number", default: 0 },
  vlanId: { type: "integer", default: 0 },
};

export const CONTAINER_FIELDS: Fields = {
  clone: block(
    {
      datastoreId: { ...text, replaces: true },
      full: { type: "boolean", default: true, replaces: true },
      nodeName: { ...text, replaces: true },
      vmId: { type: "integer", required: true, range: VMID_RANGE, replaces: true },
    },
    { default: null },
  ),
  console: block(
    {
      enabled: { type: "boolean", default: true },
      ttyCount: { type: "integer", default: 2, range: [0, 6] },
      type: { type: { oneOf: ["console", "shell", "tty"] }, default: "tty" },
    },
    { default: DEFAULT_BLOCKS.console },
  ),
  cpu: block(
    {
      architecture: { type: { oneOf: ARCHITECTURES }, default: "amd64" },
      cores: { type: "integer", default: 1, range: [1, 128] },
      limit: { type: "number", default: 0, range: [0, 8192] },
      units: { type: "integer", range: [1, 500000] },
    },
    { default: DEFAULT_BLOCKS.cpu },
  ),
  description: text,
  devicePassthroughs: list({
    object: {
      denyWrite: off,
      gid: { type: "integer", range: [0, Infinity] },
      mode: { type: "string", default: "0660" },
      path: { ...text, required: true },
      uid: { type: "integer", range: [0, Infinity] },
    },
  }),
  disk: block(
    {
      acl: off,
      datastoreId: { type: "string", default: "local", replaces: true },
      mountOptions: list("string"),
      pathInDatastore: text,
      quota: off,
      replicate: off,
      size: { type: "integer", default: 4, range: [0, Infinity] },
    },
    { default: DEFAULT_BLOCKS.disk },
  ),
  environmentVariables: { type: { map: "string" } },
  features: block(
    {
      fuse: off,
      keyctl: off,
      mknod: off,
      mounts: list({ oneOf: ["cifs", "nfs"] }),
      nesting: off,
    },
    { default: DEFAULT_BLOCKS.features },
  ),
  hookScriptFileId: text,
  idmaps: list({
    object: {
      containerId: { type: "integer", required: true, range: [0, Infinity] },
      hostId: { type: "integer", required: true, range: [0, Infinity] },
      size: { type: "integer", required: true, range: [1, Infinity] },
      type: { type: { oneOf: ["uid", "gid"] }, required: true },
    },
  }),
  initialization,
  memory: block(
    {
      dedicated: { type: "integer", default: 512, range: [16, MEMORY_LIMIT] },
      swap: { type: "integer", default: 0, range: [0, MEMORY_LIMIT] },
    },
    { default: DEFAULT_BLOCKS.memory },
  ),
  mountPoints: list({ object: mountPoint }, { replaces: true }),
  networkInterfaces: list({ object: networkInterface }),
  nodeName: { ...text, required: true, replaces: true },
  operatingSystem: block(
    {
      templateFileId: {
        ...text,
        required: true,
        replaces: true,
        form: {
          pattern: FILE_ID,
          reason: "must be a file of a datastore (local:vztmpl/x.tar.zst)",
        },
      },
      type: { type: { oneOf: OPERATING_SYSTEMS }, default: "unmanaged" },
    },
    { replaces: true },
  ),
  poolId: { ...text, replaces: true },
  protection: off,
  startOnBoot: { type: "boolean", default: true },
  started: { type: "boolean", default: true },
  startup: block({
    downDelay: { type: "integer", default: -1 },
    order: { type: "integer", default: -1 },
    upDelay: { type: "integer", default: -1 },
  }),
  tags: list("string"),
  template: { ...off, replaces: true },
  timeoutClone: seconds(1800),
  timeoutCreate: seconds(1800),
  timeoutDelete: seconds(60),
  timeoutStart: { ...seconds(300), deprecated: true },
  timeoutUpdate: seconds(1800),
  unprivileged: { ...off, replaces: true },
  vmId: { type: "integer", range: VMID_RANGE, replaces: true },
  waitForIp: block({ ipv4: off, ipv6: off }),
};

const hidden: Field = { type: "string", secret: true };

export const PROVIDER_FIELDS: Fields = {
  apiToken: hidden,
  authTicket: hidden,
  csrfPreventionToken: hidden,
  endpoint: text,
  insecure: flag,
  minTls: { type: { oneOf: ["1.0", "1.1", "1.2", "1.3"] } },
  otp: text,
  password: hidden,
  randomVmIdEnd: { type: "integer" },
  randomVmIdStart: { type: "integer" },
  randomVmIds: flag,
  ssh: block({
    agent: flag,
    agentForwarding: flag,
    agentSocket: text,
    nodeAddressSource: { type: { oneOf: ["api", "dns"] } },
    nodes: list({
      object: {
        address: { ...text, required: true },
        name: { ...text, required: true },
        port: { type: "integer" },
      },
    }),
    password: hidden,
    privateKey: hidden,
    socks5Password: hidden,
    socks5Server: text,
    socks5Username: text,
    username: text,
  }),
  tmpDir: text,
  username: text,
};
