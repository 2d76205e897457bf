/** A small valid fleet as its config writes it, for tests that change one thing in it. */

import { parseFleet } from "../../components/config/load.ts";
import type { AgentConfig, FleetConfig } from "../../components/config/schema.ts";

/** Public keys without a private half: nothing can log in by them. */
export const OPERATOR_KEY =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBvWJwTNrsSxmv+2EIm6Ehn0Mgf5EIMmPUfbTPoTJDLB operator";
export const HOST_KEY =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKcQpIfBcqvRzvNHbvQ5ZxSdBXe6uFh2Y7kGjYPdKQ1p";

export type Document = Record<string, unknown>;

/** One agent with all that must be said, and one loop. */
export function agentDocument(index: number, more: Document = {}): Document {
  return {
    node: "pve1",
    vmid: 200 + index,
    address: `10.210.${String(Math.floor(index / 200))}.${String(10 + (index % 200))}/16`,
    gateway: "10.210.255.254",
    cores: 2,
    memory: { max: "1GiB", high: "896MiB", guestReserve: "256MiB", swap: "512MiB" },
    pidsMax: 1024,
    nofile: 8192,
    home: { quota: "10GiB" },
    git: { name: `Agent ${String(index)}`, email: `agent${String(index)}@agents.example.org` },
    sessions: { max: 3, memory: "128MiB" },
    loops: { hello: { command: ["/bin/echo", "hello"], every: "1h", timeLimit: "5min" } },
    ...more,
  };
}

/** A fleet of one node with these agents, as `berth:` keys without that prefix. */
export function fleetDocument(agents: Record<string, Document>, node: Document = {}): Document {
  return {
    proxmox: { endpoint: "https://pve1.example.org:8006/" },
    access: { keys: [OPERATOR_KEY] },
    nodes: {
      pve1: {
        address: "pve1.example.org",
        hostKey: HOST_KEY,
        pool: "rpool/berth",
        template: "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst",
        cores: 64,
        memory: "1TiB",
        ...node,
      },
    },
    agents,
  };
}

export function parsedFleet(agents: Record<string, Document>, node: Document = {}): FleetConfig {
  return parseFleet(fleetDocument(agents, node), "the test's config");
}

/** The config of agent `bob`, defaults in place. */
export function bob(more: Document = {}): AgentConfig {
  const agent = parsedFleet({ bob: agentDocument(1, more) }).agents["bob"];
  if (agent === undefined) {
    throw new Error("the fleet has no bob");
  }
  return agent;
}
