/** What `command:remote:Command` lets out and takes in, on whichever plugin is under test. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as pulumi from "@pulumi/pulumi";

import { CommandFixture } from "./command-fixture.ts";
import { failure } from "./stack.ts";

const on = new CommandFixture();

describe("secrets", () => {
  test("the connection is never in the clear; a secret input is not, its output is", async () => {
    await on.stack.up(
      on.commands({ c: { create: "cat", stdin: pulumi.secret("hunter2-in"), logging: "none" } }),
    );
    const state = on.stack.state();
    assert.doesNotMatch(state, /OPENSSH PRIVATE KEY/);
    assert.doesNotMatch(state, /"stdin":"hunter2-in"/);
    assert.match(state, /"stdout":"hunter2-in"/);
  });

  test("additionalSecretOutputs hides the output", async () => {
    await on.stack.up(
      on.commands(
        { c: { create: "cat", stdin: pulumi.secret("hunter2-in"), logging: "none" } },
        { additionalSecretOutputs: ["stdout", "stderr"] },
      ),
    );
    assert.doesNotMatch(on.stack.state(), /hunter2-in/);
  });

  test("logging decides what is shown, not what is kept", async () => {
    const create = "echo to-out; echo to-err >&2";
    const { steps, diagnostics } = await on.stack.up(
      on.commands({ none: { create, logging: "none" }, errors: { create, logging: "stderr" } }),
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

describe("environment", () => {
  test("a variable that the server takes is there; one that it refuses fails the command", async () => {
    const create = "echo $BERTH_GREETING";
    const { steps } = await on.stack.up(
      on.commands({ c: { create, environment: { BERTH_GREETING: "hello" } } }),
    );
    assert.equal(steps[0]?.outputs["stdout"], "hello");
    on.server.forget();
    const message = await failure(
      on.stack.up(on.commands({ c: { create: "echo ran", environment: { LANG: "C" } } })),
    );
    assert.match(message, /could not set environment variable "LANG": ssh: setenv failed/);
    assert.deepEqual(on.server.ran, []);
  });

  test("the previous output is offered to an update unless that is switched off", async () => {
    const create = "echo previous=$PULUMI_COMMAND_STDOUT; echo some >&2";
    const program = (stdin: string): pulumi.automation.PulumiFn =>
      on.commands({
        on: { create, stdin, addPreviousOutputInEnv: true },
        off: { create, stdin, addPreviousOutputInEnv: false },
      });
    await on.stack.up(program("a"));
    // The server refuses PULUMI_COMMAND_STDERR, which is only a warning.
    const { steps, diagnostics } = await on.stack.up(program("b"));
    const outputs = Object.fromEntries(
      steps.map(({ name, outputs: { stdout } }) => [name, stdout]),
    );
    assert.deepEqual(outputs, { on: "previous=previous=", off: "previous=" });
    assert.match(diagnostics, /Unable to set 'PULUMI_COMMAND_STDERR'/);
    assert.doesNotMatch(diagnostics, /Unable to set 'PULUMI_COMMAND_STDOUT'/);
  });
});

describe("inputs", () => {
  test("an unknown field is an error before anything runs", async () => {
    const mistyped = { ...on.connection(), hostKeys: "x" } as never;
    const message = await failure(
      on.stack.preview(on.commands({ c: { connection: mistyped, create: "true" } })),
    );
    assert.match(message, /hostKeys/);
  });

  test("an unknown kind of logging is not accepted for a known one", async () => {
    await on.stack
      .up(on.commands({ c: { create: "echo secret-word", logging: "nonne" as never } }))
      .then(
        ({ diagnostics }) => {
          assert.doesNotMatch(diagnostics, /secret-word/);
        },
        (error: unknown) => {
          assert.match(String(error), /logging/);
        },
      );
  });
});
