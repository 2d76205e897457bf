/** What the tests of remote commands stand on: a server, and a stack for each test. */

import { after, afterEach, before, beforeEach } from "node:test";

import * as command from "@pulumi/command";
import type * as pulumi from "@pulumi/pulumi";

import { startSshServer, type SshServer } from "./ssh-server.ts";
import { TestStack, type Step } from "./stack.ts";

export type Args = Partial<command.remote.CommandArgs>;
type ConnectionArgs = command.types.input.remote.ConnectionArgs;

export class CommandFixture {
  #server: SshServer | undefined;
  #stack: TestStack | undefined;

  /** Sets itself up before the tests of the file and cleans up after them. */
  constructor() {
    before(async () => {
      this.#server = await startSshServer({
        acceptEnv: ["BERTH_GREETING", "PULUMI_COMMAND_STDOUT"],
      });
    });
    after(() => this.#server?.close());
    beforeEach(async () => {
      this.#stack = await TestStack.create();
    });
    afterEach(() => {
      this.#stack?.remove();
      this.#server?.forget();
    });
  }

  get server(): SshServer {
    return started(this.#server);
  }

  get stack(): TestStack {
    return started(this.#stack);
  }

  connection(more: Partial<ConnectionArgs> = {}): ConnectionArgs {
    const { port, privateKey, hostKey } = this.server;
    return { host: "127.0.0.1", port, privateKey, hostKey, dialErrorLimit: 0, ...more };
  }

  /** A program of commands by name. */
  commands(
    all: Readonly<Record<string, Args>>,
    opts: pulumi.CustomResourceOptions = {},
  ): pulumi.automation.PulumiFn {
    return () => {
      for (const [name, args] of Object.entries(all)) {
        const full = { connection: this.connection(), addPreviousOutputInEnv: false, ...args };
        new command.remote.Command(name, full, opts);
      }
      return Promise.resolve();
    };
  }
}

/** Operation and name of each step, sorted: commands run side by side. */
export function named(steps: readonly Step[]): string[] {
  return steps.map(({ op, name }) => `${op} ${name}`).sort();
}

function started<T>(thing: T | undefined): T {
  if (thing === undefined) {
    throw new Error("the fixture is there from the first test on");
  }
  return thing;
}
