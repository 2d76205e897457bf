/** What the tests of containers stand on: a node, and a stack and an id for each test. */

import { after, afterEach, before, beforeEach } from "node:test";

import * as proxmox from "@muhlba91/pulumi-proxmoxve";
import type * as pulumi from "@pulumi/pulumi";

import { BASE, type ContainerInputs } from "./container-row.ts";
import { NODE, ProxmoxNode, type Change } from "./proxmox-node.ts";
import { TestStack } from "./stack.ts";

export const STOPPED = { started: false };

export class ContainerFixture {
  /** Of this test; the node stays for the next one, so each has a container of its own. */
  vmid = 300;
  #node: ProxmoxNode | undefined;
  #stack: TestStack | undefined;

  /** Sets itself up before the tests of the file and cleans up after them. */
  constructor() {
    before(async () => {
      this.#node = await ProxmoxNode.start();
    });
    after(() => this.#node?.stop());
    beforeEach(async () => {
      this.vmid += 1;
      this.#stack = await TestStack.create({ SSL_CERT_FILE: this.node.certificate });
    });
    afterEach(() => {
      this.#stack?.remove();
      this.#node?.takeChanges();
    });
  }

  get node(): ProxmoxNode {
    return started(this.#node);
  }

  get stack(): TestStack {
    return started(this.#stack);
  }

  /** A program of one container. */
  program(
    inputs: ContainerInputs,
    opts: pulumi.CustomResourceOptions = {},
    apiToken: pulumi.Input<string> = this.node.apiToken,
  ): pulumi.automation.PulumiFn {
    return () => {
      const { endpoint } = this.node;
      const provider = new proxmox.Provider("proxmox", { endpoint, apiToken });
      const args = { ...BASE, vmId: this.vmid, ...inputs } as proxmox.ContainerLegacyArgs;
      new proxmox.ContainerLegacy("ct", args, { ...opts, provider });
      return Promise.resolve();
    };
  }
}

/** Method and path below the node. */
export function requests(changes: readonly Change[]): string[] {
  return changes.map(({ method, path }) => `${method} ${path.replace(`nodes/${NODE}/`, "")}`);
}

function started<T>(thing: T | undefined): T {
  if (thing === undefined) {
    throw new Error("the fixture is there from the first test on");
  }
  return thing;
}
