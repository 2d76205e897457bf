import assert from "node:assert/strict";
import { test } from "node:test";

import { labCommand, sshWords } from "./commands.ts";

test("the lab's commands are there, each with a description", () => {
  const commands = labCommand().commands;
  assert.deepEqual(
    commands.map((command) => command.name()),
    ["up", "down", "status", "ssh", "pulumi", "env", "destroy"],
  );
  assert.ok(commands.every((command) => command.description() !== ""));
});

test("ssh: at most one word before -- is the agent, all after it are the command", () => {
  const split = (...typed: string[]) =>
    sshWords(
      ["node", "main.ts", "lab", "ssh", ...typed],
      typed.filter((word) => word !== "--"),
    );
  assert.deepEqual(split(), { agent: undefined, words: [] });
  assert.deepEqual(split("bob"), { agent: "bob", words: [] });
  assert.deepEqual(split("bob", "--", "ls", "-l"), { agent: "bob", words: ["ls", "-l"] });
  assert.deepEqual(split("--", "zfs", "list"), { agent: undefined, words: ["zfs", "list"] });
  assert.throws(() => split("bob", "ls"), /a command comes after --/);
});
