/** The program without an engine: every registration answered by its own inputs and recorded. */

import * as pulumi from "@pulumi/pulumi";

import { stackConfig } from "./stack-config.ts";
import type { Document } from "./fleet.ts";

/** What apply reports of an agent in a test without a node. */
export const APPLIED = {
  hostKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGuestGuestGuestGuestGuestGuestGuestGuest"],
  limits: { memoryMax: 1, memoryHigh: 1, swapMax: 0, pidsMax: 1, nofile: 1 },
  pending: [],
};

/** The address that Proxmox gives to a new container's interface. */
export const MAC = "BC:24:11:00:00:01";

/** Secrets that must be found in no log, output or plain state. */
export const CANARY_TOKEN = "root@pam!berth=ca0a2700-0000-4000-8000-00000c0ffee5";
export const CANARY_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nCANARYcanaryCANARY\n";

export interface Deployed<T> {
  readonly resources: readonly pulumi.runtime.MockResourceArgs[];
  readonly result: T;
}

/** Runs a program that uses the fleet's config; `result` is what it gave back. */
export async function deploy<T>(document: Document, program: () => T): Promise<Deployed<T>> {
  const resources: pulumi.runtime.MockResourceArgs[] = [];
  const { values, secretKeys } = stackConfig(document, {
    proxmoxToken: CANARY_TOKEN,
    nodeKey: CANARY_KEY,
  });
  await pulumi.runtime.setMocks(
    {
      newResource: (args) => {
        resources.push(args);
        const inputs = { ...(args.inputs as Record<string, unknown>) };
        if (args.type.startsWith("proxmoxve:")) {
          inputs["networkInterfaces"] = [{ name: "eth0", bridge: "vmbr0", macAddress: MAC }];
        }
        const stdout = args.name.endsWith("-apply") ? { stdout: JSON.stringify(APPLIED) } : {};
        return { id: `${args.name}-id`, state: { ...inputs, ...stdout } };
      },
      call: (args) => args.inputs as Record<string, unknown>,
    },
    "berth",
    "test",
    true,
  );
  pulumi.runtime.setAllConfig(values, secretKeys);
  const result = program();
  // Drains; otherwise late registrations fail the next test.
  await pulumi.runtime.disconnect();
  return { resources, result };
}

/** The value of an output, once. */
export function valueOf<T>(output: pulumi.Output<T>): Promise<T> {
  return new Promise((resolve) => {
    output.apply(resolve);
  });
}
