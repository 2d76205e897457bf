/** `command:remote:Command`, on whichever plugin is under test. */

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";

import * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";

import { startSshServer, type SshServer } from "./ssh-server.ts";
import { missingEngine, OperationError, TestStack, type Step } from "./stack.ts";

type Args = command.remote.CommandArgs;

const skip = missingEngine() ?? false;

let server: SshServer;
let stack: TestStack;

before(async () => {
  server = await startSshServer({ acceptEnv: ["BERTH_GREETING", "PULUMI_COMMAND_STDOUT"] });
});

after(() => server.close());

beforeEach(async () => {
  stack = await TestStack.create();
});

afterEach(async () => {
  await stack.destroy().catch(() => undefined);
  stack.remove();
  server.forget();
});

function connection(more: Partial<command.types.input.remote.ConnectionArgs> = {}) {
  const { port, privateKey, hostKey } = server;
  return { host: "127.0.0.1", port, privateKey, hostKey, dialErrorLimit: 0, ...more };
}

/** A program of commands by name. */
function commands(
  all: Readonly<Record<string, Partial<Args>>>,
  opts: pulumi.CustomResourceOptions = {},
): pulumi.automation.PulumiFn {
  return () => {
    for (const [name, args] of Object.entries(all)) {
      const full = { connection: connection(), addPreviousOutputInEnv: false, ...args };
      new command.remote.Command(name, full, opts);
    }
    return Promise.resolve();
  };
}

function ops(steps: readonly Step[]): string[] {
  return steps.map(({ op, name }) => `${op} ${name}`).sort();
}

async function failure(operation: Promise<unknown>): Promise<string> {
  try {
    await operation;
  } catch (error) {
    assert.ok(error instanceof OperationError, String(error));
    return error.message;
  }
  return assert.fail("the operation should fail");
}

describe("creating", { skip }, () => {
  test("runs the command with its input and keeps its output, one newline less", async () => {
    const { steps } = await stack.up(
      commands({ c: { create: "cat; echo; echo two >&2", stdin: "one\n" } }),
    );
    assert.deepEqual(ops(steps), ["create c"]);
    assert.equal(steps[0]?.outputs["stdout"], "one\n");
    assert.equal(steps[0].outputs["stderr"], "two");
    assert.deepEqual(
      server.ran.map(({ stdin, method }) => [stdin, method]),
      [["one\n", "publickey"]],
    );
    assert.equal(server.connections.total, 1);
  });

  test("a failure is told with command and output, and leaves nothing behind", async () => {
    const broken = commands({ c: { create: "echo out; echo 'err' >&2; exit 3", logging: "none" } });
    const message = await failure(stack.up(broken));
    assert.match(
      message,
      /Process exited with status 3: running "echo out; echo 'err' >&2; exit 3":\n(out\nerr|err\nout)\n/,
    );
    assert.doesNotMatch(stack.state(), /remote:Command/);
    assert.deepEqual(ops((await stack.up(commands({ c: { create: "true" } }))).steps), [
      "create c",
    ]);
  });

  test("a command that is killed is told with its signal", async () => {
    const message = await failure(stack.up(commands({ c: { create: "kill -9 $$" } })));
    assert.match(message, /Process exited with status 137 from signal KILL/);
  });

  test("a preview runs nothing and knows no output", async () => {
    const { steps } = await stack.preview(commands({ c: { create: "true" } }));
    assert.deepEqual(ops(steps), ["create c"]);
    assert.notEqual(steps[0]?.outputs["stdout"], "");
    assert.equal(server.connections.total, 0);
  });

  test("without a create command there is nothing to run", async () => {
    const { steps } = await stack.up(commands({ c: { delete: "true" } }));
    assert.equal(steps[0]?.outputs["stdout"], "");
    assert.equal(server.connections.total, 0);
  });
});

describe("updating", { skip }, () => {
  const base = { create: "echo created", delete: "true", stdin: "a" };
  const changes: Readonly<Record<string, Partial<Args>>> = {
    create: { create: "echo changed" },
    update: { update: "echo updated" },
    delete: { delete: "false || true" },
    stdin: { stdin: "b" },
    logging: { logging: "none" },
    environment: { environment: { BERTH_GREETING: "hello" } },
    connection: { connection: { dialErrorLimit: 3 } as never },
  };

  test("every changed input but triggers runs the update command, else create, again", async () => {
    const names = Object.keys(changes);
    await stack.up(commands(Object.fromEntries(names.map((name) => [name, base]))));
    server.forget();
    const next = Object.fromEntries(
      Object.entries(changes).map(([name, change]) => [
        name,
        name === "connection"
          ? { ...base, connection: connection({ dialErrorLimit: 3 }) }
          : { ...base, ...change },
      ]),
    );
    const { steps } = await stack.up(commands(next));
    assert.deepEqual(ops(steps), names.map((name) => `update ${name}`).sort());
    assert.equal(server.connections.total, names.length);
    const outputs = Object.fromEntries(
      steps.map(({ name, outputs: { stdout } }) => [name, stdout]),
    );
    assert.equal(outputs["update"], "updated");
    assert.equal(outputs["create"], "changed");
    assert.equal(outputs["stdin"], "created");
  });

  test("unchanged inputs and a refresh run nothing", async () => {
    await stack.up(commands({ c: base }));
    server.forget();
    assert.deepEqual(ops((await stack.up(commands({ c: base }))).steps), ["same c"]);
    await stack.refresh();
    assert.deepEqual(ops((await stack.preview(commands({ c: base }))).steps), ["same c"]);
    assert.equal(server.connections.total, 0);
  });

  test("a preview does not know the output of what will run again, else it does", async () => {
    await stack.up(commands({ c: base, d: base }));
    server.forget();
    const { steps } = await stack.preview(commands({ c: { ...base, stdin: "b" }, d: base }));
    const outputs = Object.fromEntries(
      steps.map(({ name, outputs: { stdout } }) => [name, stdout]),
    );
    assert.notEqual(outputs["c"], "created");
    assert.equal(outputs["d"], "created");
    assert.deepEqual(steps.find(({ name }) => name === "c")?.changed, ["stdin"]);
    assert.equal(server.connections.total, 0);
  });

  test("a failed update is done again", async () => {
    await stack.up(commands({ c: base }));
    const next = { ...base, stdin: "b", update: "exit 1" };
    await failure(stack.up(commands({ c: next })));
    const { steps } = await stack.preview(commands({ c: next }));
    assert.deepEqual(ops(steps), ["update c"]);
  });
});

describe("triggers", { skip }, () => {
  const base = { create: "echo create", update: "echo update", delete: "echo delete" };

  function order(): string[] {
    return server.ran.map(({ command: line }) => line.replace("echo ", ""));
  }

  test("a changed one replaces, even with an update command; the old delete comes last", async () => {
    await stack.up(commands({ c: { ...base, triggers: ["a"] } }));
    const { steps } = await stack.up(commands({ c: { ...base, triggers: ["b"] } }));
    assert.deepEqual(ops(steps), ["create-replacement c", "delete-replaced c", "replace c"]);
    assert.deepEqual(steps[0]?.replaces, ["triggers[0]"]);
    assert.deepEqual(order(), ["create", "create", "delete"]);
  });

  test("with deleteBeforeReplace the old delete comes first", async () => {
    const opts = { deleteBeforeReplace: true };
    await stack.up(commands({ c: { ...base, triggers: ["a"] } }, opts));
    await stack.up(commands({ c: { ...base, triggers: ["b"] } }, opts));
    assert.deepEqual(order(), ["create", "delete", "create"]);
  });

  test("the first one and the last one replace too", async () => {
    await stack.up(commands({ c: base }));
    const { steps } = await stack.up(commands({ c: { ...base, triggers: ["a"] } }));
    assert.deepEqual(steps[0]?.replaces, ["triggers"]);
    const { steps: back } = await stack.up(commands({ c: base }));
    assert.deepEqual(back[0]?.replaces, ["triggers"]);
  });
});

describe("deleting", { skip }, () => {
  test("runs the old command with the old input over the old connection", async () => {
    await stack.up(commands({ c: { create: "true", delete: "echo old; cat", stdin: "input" } }));
    server.forget();
    await stack.destroy();
    assert.deepEqual(
      server.ran.map(({ command: line, stdin }) => [line, stdin]),
      [["echo old; cat", "input"]],
    );
  });

  test("a failed one keeps the resource", async () => {
    await stack.up(commands({ c: { create: "true", delete: "exit 1" } }));
    assert.match(await failure(stack.destroy()), /Process exited with status 1/);
    assert.match(stack.state(), /remote:Command/);
  });

  test("a command with deletedWith is not run when that other goes", async () => {
    await stack.up(() => {
      const args = { connection: connection(), create: "true", addPreviousOutputInEnv: false };
      const machine = new command.remote.Command("machine", { ...args, delete: "echo machine" });
      const opts = { deletedWith: machine, dependsOn: machine };
      new command.remote.Command("guest", { ...args, delete: "echo guest" }, opts);
      return Promise.resolve();
    });
    server.forget();
    await stack.destroy();
    assert.deepEqual(
      server.ran.map(({ command: line }) => line),
      ["echo machine"],
    );
  });
});

describe("secrets", { skip }, () => {
  test("the connection is never in the clear; a secret input is not, its output is", async () => {
    await stack.up(
      commands({ c: { create: "cat", stdin: pulumi.secret("hunter2-in"), logging: "none" } }),
    );
    const state = stack.state();
    assert.doesNotMatch(state, /OPENSSH PRIVATE KEY/);
    assert.doesNotMatch(state, /"stdin": "hunter2-in"/);
    assert.match(state, /"stdout": "hunter2-in"/);
  });

  test("additionalSecretOutputs hides the output", async () => {
    await stack.up(
      commands(
        { c: { create: "cat", stdin: pulumi.secret("hunter2-in"), logging: "none" } },
        { additionalSecretOutputs: ["stdout", "stderr"] },
      ),
    );
    assert.doesNotMatch(stack.state(), /hunter2-in/);
  });

  test("logging decides what is shown, not what is kept", async () => {
    const create = "echo to-out; echo to-err >&2";
    const { steps, diagnostics } = await stack.up(
      commands({ none: { create, logging: "none" }, errors: { create, logging: "stderr" } }),
    );
    assert.equal(diagnostics.match(/to-err/g)?.length, 1);
    assert.doesNotMatch(diagnostics, /to-out/);
    assert.deepEqual(
      steps.map(({ outputs: { stdout, stderr } }) => [stdout, stderr]),
      [
        ["to-out", "to-err"],
        ["to-out", "to-err"],
      ],
    );
  });
});

describe("environment", { skip }, () => {
  test("a variable that the server takes is there; one that it refuses fails the command", async () => {
    const create = "echo $BERTH_GREETING";
    const { steps } = await stack.up(
      commands({ c: { create, environment: { BERTH_GREETING: "hello" } } }),
    );
    assert.equal(steps[0]?.outputs["stdout"], "hello");
    server.forget();
    const message = await failure(
      stack.up(commands({ c: { create: "echo ran", environment: { LANG: "C" } } })),
    );
    assert.match(message, /could not set environment variable "LANG": ssh: setenv failed/);
    assert.deepEqual(server.ran, []);
  });

  test("the previous output is offered to an update unless that is switched off", async () => {
    const create = "echo previous=$PULUMI_COMMAND_STDOUT; echo some >&2";
    const program = (stdin: string): pulumi.automation.PulumiFn =>
      commands({
        on: { create, stdin, addPreviousOutputInEnv: true },
        off: { create, stdin, addPreviousOutputInEnv: false },
      });
    await stack.up(program("a"));
    // The server refuses PULUMI_COMMAND_STDERR, which is only a warning.
    const { steps, diagnostics } = await stack.up(program("b"));
    const outputs = Object.fromEntries(
      steps.map(({ name, outputs: { stdout } }) => [name, stdout]),
    );
    assert.deepEqual(outputs, { on: "previous=previous=", off: "previous=" });
    assert.match(diagnostics, /Unable to set 'PULUMI_COMMAND_STDERR'/);
    assert.doesNotMatch(diagnostics, /Unable to set 'PULUMI_COMMAND_STDOUT'/);
  });
});

describe("inputs", { skip }, () => {
  test("an unknown field is an error before anything runs", async () => {
    const mistyped = { ...connection(), hostKeys: "x" } as never;
    const message = await failure(
      stack.preview(commands({ c: { connection: mistyped, create: "true" } })),
    );
    assert.match(message, /hostKeys/);
  });

  test("an unknown kind of logging is not accepted for a known one", async () => {
    await stack.up(commands({ c: { create: "echo secret-word", logging: "nonne" as never } })).then(
      ({ diagnostics }) => {
        assert.doesNotMatch(diagnostics, /secret-word/);
      },
      (error: unknown) => {
        assert.match(String(error), /logging/);
      },
    );
  });
});
