import assert from "node:assert/strict";
import { test } from "node:test";

import {
  agentDocument,
  fleetDocument,
  parsedFleet,
  type Document,
} from "../../test/support/fleet.ts";
import { ConfigError } from "./faults.ts";
import { parseFleet } from "./load.ts";

/** The faults of a document; none when it is right. */
function faultsOf(document: Document): ConfigError["faults"] {
  try {
    parseFleet(document, "the test's config");
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.faults;
  }
}

function pathsOf(document: Document): string[] {
  return faultsOf(document)
    .map((fault) => fault.path)
    .sort();
}

/** A fleet of one agent, bob, with these keys in place of the right ones. */
function withBob(more: Document): Document {
  return fleetDocument({ bob: agentDocument(1, more) });
}

function withMemory(memory: Document): Document {
  return withBob({ memory: { max: "1GiB", guestReserve: "256MiB", ...memory } });
}

function withLoop(loop: Document): Document {
  return withBob({ loops: { hello: { command: ["/bin/true"], every: "1h", ...loop } } });
}

function withNames(...names: string[]): Document {
  return fleetDocument(Object.fromEntries(names.map((name, i) => [name, agentDocument(i + 1)])));
}

const BROKEN: readonly [what: string, document: Document, paths: readonly string[]][] = [
  // nofile and pids: a value beyond the kernel's own limit stops the container's start.
  ["nofile above nr_open", withBob({ nofile: 2_000_000 }), ["agents.bob.nofile"]],
  ["nofile unlimited", withBob({ nofile: "unlimited" }), ["agents.bob.nofile"]],
  ["nofile negative", withBob({ nofile: -1 }), ["agents.bob.nofile"]],
  ["nofile with a unit", withBob({ nofile: "65k" }), ["agents.bob.nofile"]],
  ["nofile soft above hard", withBob({ nofile: "8192:4096" }), ["agents.bob.nofile"]],
  ["pidsMax too small", withBob({ pidsMax: 64 }), ["agents.bob.pidsMax"]],
  ["pidsMax above the kernel's", withBob({ pidsMax: 5_000_000 }), ["agents.bob.pidsMax"]],
  ["pidsMax missing", withBob({ pidsMax: undefined }), ["agents.bob.pidsMax"]],
  // VMIDs.
  ["vmid below 100", withBob({ vmid: 99 }), ["agents.bob.vmid"]],
  ["vmid a string", withBob({ vmid: "201" }), ["agents.bob.vmid"]],
  ["vmid not whole", withBob({ vmid: 201.5 }), ["agents.bob.vmid"]],
  [
    "vmid of another agent",
    fleetDocument({ bob: agentDocument(1), alice: agentDocument(2, { vmid: 201, uid: 1201 }) }),
    ["agents.alice.vmid"],
  ],
  ["vmid too large for a derived uid", withBob({ vmid: 60_000 }), ["agents.bob.uid"]],
  // Names that Proxmox, Linux or DNS do not take.
  ["name with an underscore", withNames("bob_1"), ["agents.bob_1"]],
  ["name with a dash first", withNames("-bob"), ["agents.-bob"]],
  ["name with a dash last", withNames("bob-"), ["agents.bob-"]],
  ["name with an umlaut", withNames("böb"), ['agents."böb"']],
  ["name of 64 letters", withNames("a".repeat(64)), [`agents.${"a".repeat(64)}`]],
  ["name with dots", withNames("bob.agent."), ['agents."bob.agent."']],
  ["name empty", withNames(""), ['agents.""']],
  ["name with a capital", withNames("Bob"), ["agents.Bob"]],
  ["names that differ by case", withNames("bob", "BOB"), ["agents.BOB"]],
  ["name of a system user", withNames("backup"), ["agents.backup"]],
  ["name of a node", withNames("pve1"), ["agents.pve1"]],
  // Memory.
  ["max with a decimal unit", withMemory({ max: "1GB" }), ["agents.bob.memory.max"]],
  ["max a number", withMemory({ max: 1024 }), ["agents.bob.memory.max"]],
  ["max not in MiB", withMemory({ max: "1048577KiB" }), ["agents.bob.memory.max"]],
  ["high above max", withMemory({ high: "2GiB" }), ["agents.bob.memory.high"]],
  ["high too near max", withMemory({ high: "1020MiB" }), ["agents.bob.memory.high"]],
  ["high not in pages", withMemory({ high: "805306369B" }), ["agents.bob.memory.high"]],
  [
    "reserve takes all",
    withMemory({ guestReserve: "850MiB" }),
    ["agents.bob.memory.guestReserve", "agents.bob.sessions.memory"],
  ],
  ["swap with a decimal unit", withMemory({ swap: "1GB" }), ["agents.bob.memory.swap"]],
  ["swap not in MiB", withMemory({ swap: "1KiB" }), ["agents.bob.memory.swap"]],
  ["memory missing", withBob({ memory: undefined }), ["agents.bob.memory"]],
  [
    "a session larger than the slice",
    withBob({ sessions: { memory: "2GiB" } }),
    ["agents.bob.sessions.memory"],
  ],
  ["a session of nothing", withBob({ sessions: { memory: "0B" } }), ["agents.bob.sessions.memory"]],
  [
    "no session at all",
    withBob({ sessions: { max: 0, memory: "64MiB" } }),
    ["agents.bob.sessions.max"],
  ],
  [
    "node with too little memory",
    fleetDocument({ bob: agentDocument(1) }, { memory: "4GiB" }),
    ["nodes.pve1.memory"],
  ],
  ["more cores than the node", withBob({ cores: 65 }), ["agents.bob.cores"]],
  // Home and root.
  ["quota of nothing", withBob({ home: { quota: "0B" } }), ["agents.bob.home.quota"]],
  ["quota missing", withBob({ home: {} }), ["agents.bob.home.quota"]],
  ["root of nothing", withBob({ rootSize: "0B" }), ["agents.bob.rootSize"]],
  // Addresses.
  ["address without prefix", withBob({ address: "10.210.0.11" }), ["agents.bob.address"]],
  ["address of the network", withBob({ address: "10.210.0.0/16" }), ["agents.bob.address"]],
  ["gateway elsewhere", withBob({ gateway: "10.211.0.1" }), ["agents.bob.gateway"]],
  ["gateway its own address", withBob({ gateway: "10.210.0.11" }), ["agents.bob.gateway"]],
  [
    "address of another agent",
    fleetDocument({
      bob: agentDocument(1),
      alice: agentDocument(2, { address: "10.210.0.11/24", gateway: "10.210.0.1" }),
    }),
    ["agents.alice.address"],
  ],
  [
    "uid of another agent",
    fleetDocument({ bob: agentDocument(1), alice: agentDocument(2, { uid: 10_201 }) }),
    ["agents.alice.uid"],
  ],
  ["uid of root", withBob({ uid: 0 }), ["agents.bob.uid"]],
  ["uid beyond the map", withBob({ uid: 65_534 }), ["agents.bob.uid"]],
  // Loops.
  ["no time for a loop", withLoop({ every: undefined }), ["agents.bob.loops.hello"]],
  ["two times for a loop", withLoop({ calendar: "08:00" }), ["agents.bob.loops.hello"]],
  ["a period that drifts", withLoop({ every: "7min" }), ["agents.bob.loops.hello.every"]],
  ["a period of seconds", withLoop({ every: "90s" }), ["agents.bob.loops.hello.every"]],
  ["a period of two days", withLoop({ every: "2d" }), ["agents.bob.loops.hello.every"]],
  ["no command", withLoop({ command: [] }), ["agents.bob.loops.hello.command"]],
  ["a command line", withLoop({ command: "git fetch" }), ["agents.bob.loops.hello.command"]],
  ["an empty word", withLoop({ command: [""] }), ["agents.bob.loops.hello.command.0"]],
  [
    "an unknown zone",
    withLoop({ every: undefined, calendar: "02:30", timeZone: "Europe/Atlantis" }),
    ["agents.bob.loops.hello.timeZone"],
  ],
  [
    "a calendar with a zone in it",
    withLoop({ every: undefined, calendar: "02:30 Europe/Paris" }),
    ["agents.bob.loops.hello.calendar"],
  ],
  [
    "an hour that no day has",
    withLoop({ every: undefined, calendar: "25:00" }),
    ["agents.bob.loops.hello.calendar"],
  ],
  [
    "a day that no month has",
    withLoop({ every: undefined, calendar: "*-*-32 08:00" }),
    ["agents.bob.loops.hello.calendar"],
  ],
  [
    "a calendar on two lines",
    withLoop({ every: undefined, calendar: "08:00\nOnBootSec=1" }),
    ["agents.bob.loops.hello.calendar"],
  ],
  [
    "a loop with a bad name",
    withBob({ loops: { "a b": { command: ["x"], every: "1h" } } }),
    ['agents.bob.loops."a b"'],
  ],
  // Git, files, packages.
  ["no git identity", withBob({ git: undefined }), ["agents.bob.git"]],
  [
    "a git address without domain",
    withBob({ git: { name: "Bob", email: "bob@localhost" } }),
    ["agents.bob.git.email"],
  ],
  [
    "a git name on two lines",
    withBob({ git: { name: "Bob\n[core]", email: "b@x.org" } }),
    ["agents.bob.git.name"],
  ],
  [
    "a file that climbs",
    withBob({ files: { "/etc/../root/x": { content: "" } } }),
    ['agents.bob.files."/etc/../root/x"'],
  ],
  [
    "a relative file",
    withBob({ files: { "notes.md": { content: "" } } }),
    ['agents.bob.files."notes.md"'],
  ],
  [
    "a file of Berth's",
    withBob({ files: { "/etc/berth/gate": { content: "" } } }),
    ["agents.bob.files"],
  ],
  [
    "a file of the account database",
    withBob({ files: { "/etc/shadow": { content: "" } } }),
    ["agents.bob.files"],
  ],
  [
    "a mode that is a number",
    withBob({ files: { "/etc/x": { content: "", mode: 644 } } }),
    ['agents.bob.files."/etc/x".mode'],
  ],
  [
    "a package that is an option",
    withBob({ packages: ["--force-yes"] }),
    ["agents.bob.packages.0"],
  ],
  // Unknown keys and nodes.
  ["a misspelt key", withBob({ memroy: {} }), ["agents.bob.memroy"]],
  ["a misspelt key of the fleet", { ...withBob({}), agent: {} }, ["agent"]],
  ["a node that is not there", withBob({ node: "pve2" }), ["agents.bob.node"]],
  ["no node", { ...withBob({}), nodes: {} }, ["agents.bob.node", "nodes"]],
  ["no agents key", { ...withBob({}), agents: undefined }, ["agents"]],
  [
    "an endpoint without TLS",
    { ...withBob({}), proxmox: { endpoint: "http://pve1:8006/" } },
    ["proxmox.endpoint"],
  ],
  ["no operator's key", { ...withBob({}), access: { keys: [] } }, ["access.keys"]],
  [
    "a host key of another kind",
    fleetDocument({}, { hostKey: "ssh-dss AAAA" }),
    ["nodes.pve1.hostKey"],
  ],
  ["a pool's root as parent", fleetDocument({}, { pool: "rpool" }), ["nodes.pve1.pool"]],
];

for (const [what, document, paths] of BROKEN) {
  test(`the config is refused with its path: ${what}`, () => {
    assert.deepEqual(pathsOf(document), [...paths].sort());
  });
}

test("the largest number of open files that the kernel takes is taken", () => {
  assert.deepEqual(faultsOf(withBob({ nofile: 1_048_576 })), []);
  assert.match(faultsOf(withBob({ nofile: 2_000_000 }))[0]?.message ?? "", /from 1024 to 1048576/);
});

test("all faults of a config come at once, in one message without a stack", () => {
  const started = performance.now();
  const document = {
    ...fleetDocument({
      bob: agentDocument(1, { vmid: 99, memory: { max: "1GiB", high: "2GiB" } }),
      alice: agentDocument(2, { node: "pve9", loops: { a: { command: ["x"], every: "7min" } } }),
      BAD: agentDocument(3),
      sven: agentDocument(4, { git: undefined, colour: "red" }),
    }),
    proxmox: { endpoint: "nowhere" },
  };
  const faults = faultsOf(document);
  assert.ok(performance.now() - started < 2000);
  assert.deepEqual(faults.map((fault) => fault.path).sort(), [
    "agents.BAD",
    "agents.alice.loops.a.every",
    "agents.alice.node",
    "agents.bob.vmid",
    "agents.sven.colour",
    "agents.sven.git",
    "proxmox.endpoint",
  ]);
  const { message } = new ConfigError(faults, "Pulumi.prod.yaml");
  assert.match(message, /^7 faults in Pulumi.prod.yaml; nothing was changed:\n/);
  assert.doesNotMatch(message, /\n\s+at |\.ts:\d/);
});

test("a fault says where it is, what was found and the right form", () => {
  assert.deepEqual(faultsOf(withMemory({ max: "1GB" })), [
    {
      path: "agents.bob.memory.max",
      value: '"1GB"',
      message: "a size above 0 with an IEC unit, such as 512MiB or 8GiB",
    },
  ]);
});

test("what is not said is derived: the soft limit from the hard one, the uid from the vmid", () => {
  const agent = parsedFleet({ bob: agentDocument(1, { memory: { max: "8GiB" } }) }).agents["bob"];
  assert.equal(agent?.memory.high, 7 * 2 ** 30);
  assert.equal(agent.memory.guestReserve, 512 * 2 ** 20);
  assert.equal(agent.memory.swap, 0);
  assert.equal(agent.uid, 10_201);
});

test("an agent may share its address's octets with a node's other network", () => {
  assert.deepEqual(faultsOf(fleetDocument({ bob: agentDocument(1), alice: agentDocument(2) })), []);
});
