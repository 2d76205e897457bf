import assert from "node:assert/strict";
import { test } from "node:test";

import { isSecret, secret, UNKNOWN, type Properties } from "../plugin/values.ts";
import { changesOutput, diffCommand, RemoteCommand } from "./remote-command.ts";
import { logged } from "./run.ts";
import { describeExit } from "./session.ts";

const connection = secret({ host: "pve1" });

test("checking completes the connection and makes all of it secret", () => {
  const { inputs, failures } = new RemoteCommand().check({ connection: { host: "pve1" } });
  assert.deepEqual(failures, []);
  assert.ok(isSecret(inputs["connection"]));
  assert.deepEqual(inputs["connection"].value, {
    host: "pve1",
    port: 22,
    user: "root",
    dialErrorLimit: 10,
    perDialTimeout: 15,
  });
});

test("a mistyped field of the connection is found, and not shown", () => {
  const { failures } = new RemoteCommand().check({
    connection: secret({ host: "pve1", privateKeys: "SECRET" }),
  });
  assert.deepEqual(
    failures.map(({ property }) => property),
    ["connection.privateKeys"],
  );
  assert.doesNotMatch(JSON.stringify(failures), /SECRET/);
});

test("only the coming and going of triggers replaces here", () => {
  const replaces = (olds: Properties, news: Properties): string[] =>
    Object.entries(diffCommand(olds, news).detailed)
      .filter(([, { replace }]) => replace)
      .map(([path]) => path);
  assert.deepEqual(replaces({}, { triggers: [1] }), ["triggers"]);
  assert.deepEqual(replaces({ triggers: [1] }, {}), ["triggers"]);
  // The SDK asks the engine for this one.
  assert.deepEqual(replaces({ triggers: [1] }, { triggers: [2] }), []);
  assert.deepEqual(replaces({ stdin: "a" }, { stdin: "b" }), []);
});

test("a preview calls the output unknown when an input of the state differs", () => {
  const state = { connection, create: "a", stdin: "x", stdout: "o", stderr: "" };
  const inputs = { connection, create: "a", stdin: "x" };
  assert.equal(changesOutput(state, inputs), false);
  assert.equal(changesOutput(state, { ...inputs, stdin: "y" }), true);
  assert.equal(changesOutput(state, { ...inputs, stdin: UNKNOWN }), true);
  assert.equal(changesOutput(state, { connection, create: "a" }), true);
  assert.equal(changesOutput(state, { ...inputs, delete: "d" }), false);
});

test("how a command ended is told as Go tells it", () => {
  assert.equal(describeExit(0, undefined, undefined), undefined);
  assert.equal(describeExit(3, undefined, undefined), "Process exited with status 3");
  assert.equal(
    describeExit(null, "SIGTERM", ""),
    "Process exited with status 143 from signal TERM",
  );
  assert.equal(
    describeExit(null, "SIGKILL", "oom"),
    "Process exited with status 137 from signal KILL. Reason was: oom",
  );
});

test("both streams are shown unless something else is said", () => {
  assert.deepEqual(logged(undefined), ["stdout", "stderr"]);
  assert.deepEqual(logged("stderr"), ["stderr"]);
  assert.deepEqual(logged("none"), []);
});
