/** What `command:remote:Command` runs and when, on whichever plugin is under test. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as command from "@pulumi/command";

import { CommandFixture, named, type Args } from "./command-fixture.ts";
import { failure } from "./stack.ts";

const on = new CommandFixture();

describe("creating", () => {
  test("runs the command with its input and keeps its output, one newline less", async () => {
    const { steps } = await on.stack.up(
      on.commands({ c: { create: "cat; echo; echo two >&2", stdin: "one\n" } }),
    );
    assert.deepEqual(named(steps), ["create c"]);
    assert.equal(steps[0]?.outputs["stdout"], "one\n");
    assert.equal(steps[0].outputs["stderr"], "two");
    assert.deepEqual(
      on.server.ran.map(({ stdin, method }) => [stdin, method]),
      [["one\n", "publickey"]],
    );
    assert.equal(on.server.connections.total, 1);
  });

  test("a failure is told with command and output, and leaves nothing behind", async () => {
    const broken = on.commands({
      c: { create: "echo out; echo 'err' >&2; exit 3", logging: "none" },
    });
    const message = await failure(on.stack.up(broken));
    assert.match(
      message,
      /Process exited with status 3: running "echo out; echo 'err' >&2; exit 3":\n(out\nerr|err\nout)\n/,
    );
    assert.doesNotMatch(on.stack.state(), /remote:Command/);
    assert.deepEqual(named((await on.stack.up(on.commands({ c: { create: "true" } }))).steps), [
      "create c",
    ]);
  });

  test("a command that is killed is told with its signal", async () => {
    const message = await failure(on.stack.up(on.commands({ c: { create: "kill -9 $$" } })));
    assert.match(message, /Process exited with status 137 from signal KILL/);
  });

  test("a preview runs nothing and knows no output", async () => {
    const { steps } = await on.stack.preview(on.commands({ c: { create: "true" } }));
    assert.deepEqual(named(steps), ["create c"]);
    assert.notEqual(steps[0]?.outputs["stdout"], "");
    assert.equal(on.server.connections.total, 0);
  });

  test("without a create command there is nothing to run", async () => {
    const { steps } = await on.stack.up(on.commands({ c: { delete: "true" } }));
    assert.equal(steps[0]?.outputs["stdout"], "");
    assert.equal(on.server.connections.total, 0);
  });
});

describe("updating", () => {
  const base = { create: "cat >/dev/null; echo created", delete: "true", stdin: "a" };
  const changes: Readonly<Record<string, Args>> = {
    create: { create: "cat >/dev/null; echo changed" },
    update: { update: "cat >/dev/null; echo updated" },
    delete: { delete: "false || true" },
    stdin: { stdin: "b" },
    logging: { logging: "none" },
    environment: { environment: { BERTH_GREETING: "hello" } },
    connection: { connection: { dialErrorLimit: 3 } as never },
  };

  test("every changed input but triggers runs the update command, else create, again", async () => {
    const names = Object.keys(changes);
    await on.stack.up(on.commands(Object.fromEntries(names.map((name) => [name, base]))));
    on.server.forget();
    const next = Object.fromEntries(
      Object.entries(changes).map(([name, change]) => [
        name,
        name === "connection"
          ? { ...base, connection: on.connection({ dialErrorLimit: 3 }) }
          : { ...base, ...change },
      ]),
    );
    const { steps } = await on.stack.up(on.commands(next));
    assert.deepEqual(named(steps), names.map((name) => `update ${name}`).sort());
    assert.equal(on.server.connections.total, names.length);
    const outputs = Object.fromEntries(
      steps.map(({ name, outputs: { stdout } }) => [name, stdout]),
    );
    assert.equal(outputs["update"], "updated");
    assert.equal(outputs["create"], "changed");
    assert.equal(outputs["stdin"], "created");
  });

  test("unchanged inputs and a refresh run nothing", async () => {
    await on.stack.up(on.commands({ c: base }));
    on.server.forget();
    assert.deepEqual(named((await on.stack.up(on.commands({ c: base }))).steps), ["same c"]);
    await on.stack.refresh();
    assert.deepEqual(named((await on.stack.preview(on.commands({ c: base }))).steps), ["same c"]);
    assert.equal(on.server.connections.total, 0);
  });

  test("a preview does not know the output of what will run again, else it does", async () => {
    await on.stack.up(on.commands({ c: base, d: base }));
    on.server.forget();
    const { steps } = await on.stack.preview(on.commands({ c: { ...base, stdin: "b" }, d: base }));
    const outputs = Object.fromEntries(
      steps.map(({ name, outputs: { stdout } }) => [name, stdout]),
    );
    assert.notEqual(outputs["c"], "created");
    assert.equal(outputs["d"], "created");
    assert.deepEqual(steps.find(({ name }) => name === "c")?.changed, ["stdin"]);
    assert.equal(on.server.connections.total, 0);
  });

  test("a failed update is done again", async () => {
    await on.stack.up(on.commands({ c: base }));
    const next = { ...base, stdin: "b", update: "exit 1" };
    await failure(on.stack.up(on.commands({ c: next })));
    const { steps } = await on.stack.preview(on.commands({ c: next }));
    assert.deepEqual(named(steps), ["update c"]);
  });
});

describe("triggers", () => {
  const base = { create: "echo create", update: "echo update", delete: "echo delete" };

  function order(): string[] {
    return on.server.ran.map(({ command: line }) => line.replace("echo ", ""));
  }

  test("a changed one replaces, even with an update command; the old delete comes last", async () => {
    await on.stack.up(on.commands({ c: { ...base, triggers: ["a"] } }));
    const { steps } = await on.stack.up(on.commands({ c: { ...base, triggers: ["b"] } }));
    assert.deepEqual(named(steps), ["create-replacement c", "delete-replaced c", "replace c"]);
    assert.deepEqual(steps[0]?.replaces, ["triggers[0]"]);
    assert.deepEqual(order(), ["create", "create", "delete"]);
  });

  test("with deleteBeforeReplace the old delete comes first", async () => {
    const opts = { deleteBeforeReplace: true };
    await on.stack.up(on.commands({ c: { ...base, triggers: ["a"] } }, opts));
    await on.stack.up(on.commands({ c: { ...base, triggers: ["b"] } }, opts));
    assert.deepEqual(order(), ["create", "delete", "create"]);
  });

  test("the first one and the last one replace too", async () => {
    await on.stack.up(on.commands({ c: base }));
    const { steps } = await on.stack.up(on.commands({ c: { ...base, triggers: ["a"] } }));
    assert.deepEqual(steps[0]?.replaces, ["triggers"]);
    const { steps: back } = await on.stack.up(on.commands({ c: base }));
    assert.deepEqual(back[0]?.replaces, ["triggers"]);
  });
});

describe("deleting", () => {
  test("runs the old command with the old input over the old connection", async () => {
    await on.stack.up(
      on.commands({ c: { create: "true", delete: "echo old; cat", stdin: "input" } }),
    );
    on.server.forget();
    await on.stack.destroy();
    assert.deepEqual(
      on.server.ran.map(({ command: line, stdin }) => [line, stdin]),
      [["echo old; cat", "input"]],
    );
  });

  test("a failed one keeps the resource", async () => {
    await on.stack.up(on.commands({ c: { create: "true", delete: "exit 1" } }));
    assert.match(await failure(on.stack.destroy()), /Process exited with status 1/);
    assert.match(on.stack.state(), /remote:Command/);
  });

  test("a command with deletedWith is not run when that other goes", async () => {
    await on.stack.up(() => {
      const args = { connection: on.connection(), create: "true", addPreviousOutputInEnv: false };
      const machine = new command.remote.Command("machine", { ...args, delete: "echo machine" });
      const opts = { deletedWith: machine, dependsOn: machine };
      new command.remote.Command("guest", { ...args, delete: "echo guest" }, opts);
      return Promise.resolve();
    });
    on.server.forget();
    await on.stack.destroy();
    assert.deepEqual(
      on.server.ran.map(({ command: line }) => line),
      ["echo machine"],
    );
  });
});
