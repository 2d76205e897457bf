import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { Properties } from "../plugin/values.ts";
import { diffContainer, isWithin, plan, replaces } from "./diff.ts";
import { withDefaults } from "./inputs.ts";

const required = { nodeName: "pve1", operatingSystem: { templateFileId: "local:vztmpl/x" } };

function changed(state: Properties, inputs: Properties, ignored: string[] = []): string[] {
  const before = { ...withDefaults({ ...required, ...state }), ...state };
  const asked = withDefaults({ ...required, ...inputs });
  return Object.keys(diffContainer(before, asked, ignored).detailed).sort();
}

describe("no difference is", () => {
  const rows: readonly [string, Properties, Properties][] = [
    [
      "a description with the newline that Proxmox adds",
      { description: "a\n" },
      { description: " a" },
    ],
    ["tags in another order", { tags: ["a", "b"] }, { tags: ["b", "a"] }],
    ["an empty value for none", { hookScriptFileId: "", idmaps: [], environmentVariables: {} }, {}],
    ["an id that Proxmox chose", { vmId: 100 }, {}],
    ["a block that says what the default says", { memory: { dedicated: 512, swap: 0 } }, {}],
    [
      "an address on the interface that Proxmox drew",
      { networkInterfaces: [{ name: "eth0", macAddress: "BC:24:11:00:00:01" }] },
      { networkInterfaces: [{ name: "eth0" }] },
    ],
    [
      "the volume that was made where a datastore was asked for",
      { mountPoints: [{ path: "data", volume: "zfs:subvol-1-disk-1" }] },
      { mountPoints: [{ path: "/data", volume: "zfs" }] },
    ],
  ];
  for (const [title, state, inputs] of rows) {
    test(title, () => {
      // Defaults of nested blocks are in a state as they are in a plan.
      assert.deepEqual(changed(withDefaults({ ...required, ...state }), inputs), []);
    });
  }
});

test("drift of a block that the program leaves out is a difference", () => {
  assert.deepEqual(changed({ console: { enabled: false, ttyCount: 2, type: "tty" } }, {}), [
    "console.enabled",
  ]);
});

test("ignored paths hide what is at and below them, and nothing else", () => {
  const inputs = { memory: { dedicated: 640, swap: 1 }, cpu: { cores: 2 } };
  assert.deepEqual(changed({}, inputs, ["memory"]), ["cpu.cores"]);
  assert.deepEqual(changed({}, inputs, ["memory.swap"]), ["cpu.cores", "memory.dedicated"]);
});

test("a plan keeps what only Proxmox knows", () => {
  const state = { vmId: 201, ipv4: { eth0: "10.0.0.2" }, cpu: { cores: 1, units: 100 } };
  const planned = plan(state, withDefaults({ ...required, cpu: { cores: 2 } }));
  assert.equal(planned["vmId"], 201);
  assert.deepEqual(planned["ipv4"], { eth0: "10.0.0.2" });
  assert.partialDeepStrictEqual(planned["cpu"], { cores: 2, units: 100 });
});

test("which paths make another container", () => {
  const rows: Readonly<Record<string, boolean>> = {
    nodeName: true,
    vmId: true,
    unprivileged: true,
    mountPoints: true,
    "mountPoints[1]": true,
    "mountPoints[0].volume": true,
    "mountPoints[0].size": true,
    "mountPoints[0].readOnly": false,
    "operatingSystem.templateFileId": true,
    "operatingSystem.type": false,
    "initialization.userAccount": true,
    "initialization.userAccount.keys[0]": true,
    "initialization.hostname": false,
    "disk.datastoreId": true,
    "disk.size": false,
    "memory.dedicated": false,
    "networkInterfaces[0]": false,
  };
  assert.deepEqual(
    Object.fromEntries(Object.keys(rows).map((path) => [path, replaces(path)])),
    rows,
  );
});

test("a path is within a property at a boundary only", () => {
  assert.ok(isWithin("memory.swap", "memory"));
  assert.ok(isWithin("tags[0]", "tags"));
  assert.ok(!isWithin("timeoutStart", "timeout"));
});

test("a plan says what is emptied", () => {
  const state = { tags: ["a"], startup: { order: 1 }, description: "a\n" };
  const planned = plan(state, withDefaults({ ...required, tags: [] }));
  assert.deepEqual([planned["tags"], planned["startup"], planned["description"]], [[], null, null]);
});
