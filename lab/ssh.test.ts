import assert from "node:assert/strict";
import { test } from "node:test";

import { LabPaths } from "./paths.ts";
import { run } from "../cli/process.ts";
import { sshArguments } from "./ssh.ts";

const paths = new LabPaths("lab", "/repo");

test("the node has its own configuration, agents are in the published one", () => {
  assert.deepEqual(sshArguments(paths, undefined, []), [
    "-F",
    "/repo/.lab/lab/node.ssh_config",
    "pve1",
  ]);
  assert.deepEqual(sshArguments(paths, "bob", [], ["-v"]), [
    ...["-F", "/repo/.lab/lab/ssh_config", "-v", "bob"],
  ]);
});

test("a command's words are the same words for the remote shell", async () => {
  const words = ["printf", "%s\\n", "a  b", "it's", "$HOME", "*", ""];
  const line = sshArguments(paths, "bob", words).at(-1) ?? "";
  const { stdout } = await run("sh", ["-c", line]);
  assert.equal(stdout, "a  b\nit's\n$HOME\n*\n\n");
});
