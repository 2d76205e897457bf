import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import * as pulumi from "@pulumi/pulumi";

import { HOST_KEY, parsedFleet } from "../test/support/fleet.ts";
import { deploy } from "../test/support/mocks.ts";
import { nodeCommand, nodeConnection, shellWord, type NodeConnection } from "./remote.ts";

const NASTY = [
  "",
  "plain",
  "two words",
  "it's",
  "''",
  '"quoted"',
  "$HOME ${HOME} $(id) `id`",
  "a;b&c|d>e<f",
  "back\\slash\\",
  "*?[a]{b,c}~",
  "!history #comment",
  "tab\there\nand a line",
  "-rf",
  "böb ✓",
];

test("a word reaches the program behind a POSIX shell byte by byte", () => {
  const line = NASTY.map(shellWord).join(" ");
  const output = execFileSync("/bin/sh", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" });
  assert.deepEqual(output.split("\0").slice(0, -1), NASTY);
});

test("a plain word is not quoted, so that a preview reads well", () => {
  assert.equal(shellWord("/var/lib/berth/node/0123/apply.py"), "/var/lib/berth/node/0123/apply.py");
  assert.equal(shellWord("--delete"), "--delete");
});

function connection(node: Record<string, unknown>, key?: string): NodeConnection {
  const config = parsedFleet({}, node).nodes["pve1"];
  assert.ok(config);
  return nodeConnection(config, key === undefined ? undefined : pulumi.secret(key));
}

test("a connection pins the node's host key, without its comment", () => {
  const { connection: ssh, sudo } = connection({ hostKey: `${HOST_KEY} root@pve1`, port: 2222 });
  assert.deepEqual(ssh, {
    host: "pve1.example.org",
    port: 2222,
    user: "root",
    hostKey: HOST_KEY,
    dialErrorLimit: 10,
    perDialTimeout: 15,
  });
  assert.equal(sudo, false);
});

test("a user who is not root calls the programs by sudo, which may not ask", async () => {
  const node = connection({ user: "ops" });
  const { resources } = await deploy({}, () =>
    nodeCommand(
      "x",
      {
        node,
        program: ["/p/a b.py"],
        remove: ["/p/a b.py", "--delete"],
        document: { b: 1, a: [2] },
      },
      {},
    ),
  );
  const inputs = resources[0]?.inputs as Record<string, unknown>;
  assert.equal(inputs["create"], "sudo -n '/p/a b.py'");
  assert.equal(inputs["delete"], "sudo -n '/p/a b.py' --delete");
  assert.equal(inputs["stdin"], '{\n "a": [\n  2\n ],\n "b": 1\n}');
  assert.equal(inputs["addPreviousOutputInEnv"], false);
  assert.equal(inputs["logging"], "stderr");
  assert.deepEqual(Object.keys(inputs).sort(), [
    "addPreviousOutputInEnv",
    "connection",
    "create",
    "delete",
    "logging",
    "stdin",
  ]);
});
