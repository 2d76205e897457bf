import assert from "node:assert/strict";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";

import berth from "../index.ts";
import { agentDocument, fleetDocument, HOST_KEY } from "../test/support/fleet.ts";
import { APPLIED, CANARY_KEY, CANARY_TOKEN, deploy, MAC, valueOf } from "../test/support/mocks.ts";
import { readRuntime } from "./runtime.ts";

/** How the SDK marks a secret on its way to the engine. */
const SECRET = "4dabf18193072939515e22adb298388d";
const SECRET_VALUE = "1b47061264138c4ac30d75fd1eb44270";

const FLEET = fleetDocument({ bob: agentDocument(1), alice: agentDocument(2, { retired: true }) });

type Inputs = Record<string, unknown>;

async function deployed(document = FLEET) {
  const { resources, result } = await deploy(document, berth);
  const inputsOf = (name: string, type: string): Inputs => {
    const found = resources.find((resource) => resource.name === name && resource.type === type);
    assert.ok(found, `no ${type} ${name}`);
    return found.inputs as Inputs;
  };
  return { resources, result, inputsOf };
}

const COMMAND = "command:remote:Command";
const CONTAINER = "proxmoxve:index/containerLegacy:ContainerLegacy";

test("a fleet is a provider, a node of one command, and an agent of three resources", async () => {
  const { resources } = await deployed();
  assert.deepEqual(resources.map(({ type, name }) => `${type} ${name}`).sort(), [
    "berth:index:Agent alice",
    "berth:index:Agent bob",
    "berth:index:Node pve1",
    "command:remote:Command alice-apply",
    "command:remote:Command alice-prepare",
    "command:remote:Command bob-apply",
    "command:remote:Command bob-prepare",
    "command:remote:Command pve1",
    "proxmoxve:index/containerLegacy:ContainerLegacy alice",
    "proxmoxve:index/containerLegacy:ContainerLegacy bob",
    "pulumi:providers:proxmoxve proxmox",
  ]);
});

test("a container has every input spelled out, and none that a token may not set", async () => {
  const { inputsOf } = await deployed();
  assert.deepEqual(inputsOf("bob", CONTAINER), {
    nodeName: "pve1",
    vmId: 201,
    tags: ["berth", "berth-test"],
    unprivileged: true,
    startOnBoot: true,
    started: false,
    features: { nesting: true },
    operatingSystem: {
      type: "debian",
      templateFileId: "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst",
    },
    cpu: { cores: 2 },
    memory: { dedicated: 1024, swap: 512 },
    disk: { datastoreId: "local-zfs", size: 8 },
    initialization: {
      hostname: "bob",
      ipConfigs: [{ ipv4: { address: "10.210.0.11/16", gateway: "10.210.255.254" } }],
    },
    networkInterfaces: [{ name: "eth0", bridge: "vmbr0" }],
    timeoutDelete: 600,
  });
});

test("a container without a gateway asks for none", async () => {
  const { inputsOf } = await deployed(
    fleetDocument({ bob: agentDocument(1, { gateway: undefined }) }),
  );
  assert.deepEqual((inputsOf("bob", CONTAINER)["initialization"] as Inputs)["ipConfigs"], [
    { ipv4: { address: "10.210.0.11/16" } },
  ]);
});

test("prepare knows whose machine it is, its home, and the inputs of the container", async () => {
  const { inputsOf } = await deployed();
  const prepare = inputsOf("bob-prepare", COMMAND);
  const { nodeHash } = readRuntime();
  assert.equal(prepare["create"], `/var/lib/berth/node/${nodeHash}/prepare.py`);
  // The home outlives everything: no command of ours deletes it.
  assert.equal(prepare["delete"], undefined);
  assert.deepEqual(JSON.parse(prepare["stdin"] as string), {
    agent: "bob",
    stack: "test",
    node: "pve1",
    vmid: 201,
    dataset: "rpool/berth/bob",
    quota: 10 * 2 ** 30,
    uid: 10_201,
    idmapBase: 100_000,
    container: inputsOf("bob", CONTAINER),
  });
});

test("apply has the limits, the mounts and the guest, and a deletion that stops the machine", async () => {
  const { inputsOf } = await deployed();
  const apply = inputsOf("bob-apply", COMMAND);
  const { nodeHash, guestHash } = readRuntime();
  assert.equal(apply["create"], `/var/lib/berth/node/${nodeHash}/apply.py --instance ${MAC}`);
  assert.equal(apply["delete"], `/var/lib/berth/node/${nodeHash}/apply.py --delete`);
  assert.equal(apply["triggers"], undefined);
  const { guest, ...document } = JSON.parse(apply["stdin"] as string) as { guest: Inputs };
  assert.deepEqual(document, {
    agent: "bob",
    stack: "test",
    node: "pve1",
    vmid: 201,
    dataset: "rpool/berth/bob",
    guestHash,
    restart: "never",
    deadline: 1800,
    limits: {
      memoryMax: 2 ** 30,
      memoryHigh: 896 * 2 ** 20,
      swapMax: 512 * 2 ** 20,
      pidsMax: 1024,
      nofile: 8192,
      guestReserve: 256 * 2 ** 20,
    },
    mounts: [
      { source: "/rpool/berth/bob/home", target: "home/bob", readOnly: false },
      { source: "/var/lib/berth/guest", target: "usr/lib/berth", readOnly: true },
    ],
  });
  assert.equal(guest["agent"], "bob");
});

test("a node's command carries the programs and starts their installer", async () => {
  const { inputsOf } = await deployed();
  const node = inputsOf("pve1", COMMAND);
  assert.match(node["create"] as string, /^python3 -c 'import json,sys;/);
  assert.deepEqual(JSON.parse(node["stdin"] as string), {
    node: "pve1",
    stack: "test",
    pool: "rpool/berth",
    template: "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst",
    ...readRuntime(),
  });
});

test("every command goes over the node's pinned connection, with the key as a secret", async () => {
  const { resources } = await deployed();
  const commands = resources.filter(({ type }) => type === COMMAND);
  assert.equal(commands.length, 5);
  for (const { inputs, name } of commands) {
    const connection = (inputs as Inputs)["connection"] as Inputs;
    assert.equal(connection[SECRET], SECRET_VALUE, name);
    const { hostKey, privateKey } = connection["value"] as Inputs;
    assert.equal(hostKey, HOST_KEY);
    assert.equal(privateKey, CANARY_KEY);
    assert.ok(!JSON.stringify({ ...inputs, connection: null }).includes("CANARY"), name);
  }
  const provider = resources.find(({ type }) => type === "pulumi:providers:proxmoxve");
  const token = (provider?.inputs as Inputs)["apiToken"];
  assert.deepEqual(token, { [SECRET]: SECRET_VALUE, value: CANARY_TOKEN });
});

test("the outputs say how each agent is reached and what holds it, and are no secret", async () => {
  const { result } = await deployed();
  const { bob } = result.agents;
  assert.ok(bob);
  assert.equal(await pulumi.isSecret(bob), false);
  assert.deepEqual(await valueOf(bob), {
    node: "pve1",
    vmid: 201,
    address: "10.210.0.11",
    ssh: "ssh bob",
    dataset: "rpool/berth/bob",
    limits: APPLIED.limits,
    pending: [],
  });
  const config = await valueOf(result.sshConfig);
  assert.deepEqual(config.match(/^Host .*/gm), ["Host pve1", "Host bob", "Host alice"]);
  assert.equal(
    await valueOf(result.knownHosts),
    [
      `pve1 ${HOST_KEY}`,
      ...["bob", "alice"].map((name) => `${name} ${APPLIED.hostKeys[0] ?? ""}`),
      "",
    ].join("\n"),
  );
});
