/** One change of a container and what comes of it. */

import type { ContainerLegacyArgs } from "@muhlba91/pulumi-proxmoxve";

import { NODE } from "./proxmox-node.ts";

/** Inputs that a row sets; anything goes, as in a program that is wrong. */
export type ContainerInputs = Partial<Record<keyof ContainerLegacyArgs, unknown>>;

export interface Row {
  readonly title: string;
  /** Inputs over the base before the change, and over those after it. */
  readonly before?: ContainerInputs;
  readonly after: ContainerInputs;
  /** Inputs that are there before the change alone. */
  readonly without?: readonly string[];
  readonly op: "update" | "replace" | "same";
  /** Properties that the engine names as the reason of a replacement. */
  readonly replaces?: readonly string[];
  /** Form fields of the `PUT config`; none when there is no such request. */
  readonly config?: Readonly<Record<string, string>>;
  /** Proxmox refuses it to a token, so it is only previewed. */
  readonly refused?: boolean;
  /** Other requests, by their path below the container. */
  readonly requests?: readonly string[];
}

export const TEMPLATE = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst";
export const GATEWAY = "10.210.0.1";

export const BASE = {
  nodeName: NODE,
  started: true,
  startOnBoot: true,
  unprivileged: true,
  description: "one",
  tags: ["berth", "berth-lab"],
  cpu: { cores: 1 },
  memory: { dedicated: 512, swap: 0 },
  disk: { datastoreId: "local-zfs", size: 8 },
  features: { nesting: true },
  operatingSystem: { templateFileId: TEMPLATE, type: "debian" },
  initialization: {
    hostname: "bob",
    ipConfigs: [{ ipv4: { address: "10.210.0.101/24", gateway: GATEWAY } }],
  },
  networkInterfaces: [{ name: "eth0", bridge: "vmbr0" }],
  timeoutDelete: 60,
} as const satisfies ContainerInputs;
