import assert from "node:assert/strict";
import { test } from "node:test";

import { isSecret, type Properties } from "../plugin/values.ts";
import { checkContainer, refreshedInputs, withDefaults } from "./inputs.ts";

const required = { nodeName: "pve1", operatingSystem: { templateFileId: "local:vztmpl/x" } };

test("defaults that say something are written into the inputs and noted", () => {
  const { inputs, failures } = checkContainer({
    ...required,
    networkInterfaces: [{ name: "eth0" }],
  });
  assert.deepEqual(failures, []);
  assert.deepEqual(inputs["__defaults"], [
    ...["clone", "console", "cpu", "disk", "features", "memory", "startOnBoot", "started"],
    ...["timeoutClone", "timeoutCreate", "timeoutDelete", "timeoutUpdate"],
  ]);
  assert.equal("protection" in inputs, false);
  assert.deepEqual(inputs["networkInterfaces"], [
    { __defaults: ["bridge", "enabled"], name: "eth0", bridge: "vmbr0", enabled: true },
  ]);
});

test("numbers and truth values may be texts", () => {
  const { inputs, failures } = checkContainer({ ...required, started: "false", vmId: "201" });
  assert.deepEqual(failures, []);
  assert.equal(inputs["started"], false);
  assert.equal(inputs["vmId"], 201);
});

test("a password is secret", () => {
  const account = { userAccount: { password: "hunter2" } };
  const { inputs } = checkContainer({ ...required, initialization: account });
  const { userAccount } = inputs["initialization"] as Record<string, Properties>;
  assert.ok(isSecret(userAccount?.["password"]));
});

test("a plan has every default and nothing of the notes", () => {
  const planned = withDefaults(checkContainer({ ...required, memory: { dedicated: 640 } }).inputs);
  assert.deepEqual(planned["memory"], { dedicated: 640, swap: 0 });
  assert.equal(planned["protection"], false);
  assert.equal(planned["timeoutStart"], 300);
  assert.doesNotMatch(JSON.stringify(planned), /__defaults/);
});

test("a refresh changes what the program sets, and adds nothing to it", () => {
  const inputs = { __defaults: [], description: "a", memory: { dedicated: 512 }, tags: ["a"] };
  const found = {
    description: "b\n",
    memory: { dedicated: 640, swap: 128 },
    tags: ["a", "b"],
    mountPoints: [{ path: "/x" }],
  };
  assert.deepEqual(refreshedInputs(inputs, found), {
    __defaults: [],
    description: "a",
    memory: { dedicated: 640 },
    tags: ["a", "b"],
  });
});
