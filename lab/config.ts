import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

import { Document, parseDocument } from "yaml";

import { UserError } from "../cli/errors.ts";
import { TEMPLATE } from "./image/inputs.ts";
import { NODE_NAME, type Identity } from "./machine/identity.ts";
import type { MachineRecord } from "./machine/machine.ts";
import type { LabPaths } from "./paths.ts";

/**
 * Config of the lab's stack. What follows from the machine (addresses, ports, keys) is written at
 * each `lab up`; the agents are the operator's from the first time on, to try changes with.
 */

/** The two agents of a new lab: small, and not alike. */
export const FIRST_AGENTS = {
  bob: {
    node: NODE_NAME,
    vmid: 201,
    address: "10.210.0.101/24",
    gateway: "10.210.0.1",
    cores: 2,
    memory: { max: "512MiB", high: "448MiB", guestReserve: "128MiB" },
    pidsMax: 1024,
    nofile: 8192,
    rootSize: "2GiB",
    home: { quota: "2GiB" },
    packages: ["jq"],
    git: { name: "Bob", email: "bob@agents.example.org" },
    sessions: { max: 3, memory: "96MiB" },
    loops: {
      heartbeat: {
        command: ["sh", "-c", "date >> $HOME/heartbeat.log"],
        every: "1min",
        timeLimit: "1min",
      },
      tidy: {
        command: ["find", "/tmp", "-user", "bob", "-mtime", "+7", "-delete"],
        every: "1h",
      },
    },
  },
  alice: {
    node: NODE_NAME,
    vmid: 202,
    address: "10.210.0.102/24",
    gateway: "10.210.0.1",
    cores: 1,
    memory: { max: "384MiB", high: "320MiB", guestReserve: "96MiB", swap: "64MiB" },
    pidsMax: 768,
    nofile: 4096,
    rootSize: "2GiB",
    home: { quota: "1GiB" },
    packages: ["tree"],
    files: { "/etc/profile.d/alice.sh": { content: "export EDITOR=vi\n" } },
    git: { name: "Alice", email: "alice@agents.example.org" },
    sessions: { max: 2, memory: "64MiB" },
    loops: {
      heartbeat: {
        command: ["sh", "-c", "date >> $HOME/heartbeat.log"],
        every: "5min",
        timeLimit: "1min",
      },
    },
  },
};

/** Keys that the lab's machine decides. */
export function machineConfig(
  paths: LabPaths,
  identity: Pick<Identity, "sshPublicKey" | "hostPublicKey">,
  record: MachineRecord,
): Record<string, unknown> {
  return {
    "berth:proxmox": { endpoint: `https://127.0.0.1:${String(record.apiPort)}/` },
    "berth:access": {
      keys: [identity.sshPublicKey],
      knownHostsFile: paths.at("known_hosts"),
      identityFile: paths.at("id_ed25519"),
    },
    "berth:nodes": {
      [NODE_NAME]: {
        address: "127.0.0.1",
        port: record.sshPort,
        hostKey: identity.hostPublicKey,
        pool: "rpool/berth",
        datastore: "local-zfs",
        template: `local:vztmpl/${TEMPLATE}`,
        bridge: "vmbr0",
        cores: record.cpus,
        memory: `${String(record.memory)}MiB`,
        reserve: "1GiB",
        // The agents' network is inside the machine: their only way in is the node.
        guestAccess: "through-node",
      },
    },
  };
}

/** Writes the stack's config: the machine's keys anew, the agents only where there are none. */
export function writeStackFile(file: string, machine: Readonly<Record<string, unknown>>): void {
  const document = readStackFile(file);
  for (const [key, value] of Object.entries(machine)) {
    document.setIn(["config", key], document.createNode(value));
  }
  if (!document.hasIn(["config", "berth:agents"])) {
    document.setIn(["config", "berth:agents"], document.createNode(FIRST_AGENTS));
  }
  const text = document.toString({ lineWidth: 0 });
  if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

/** Whether the stack's config holds these secrets, encrypted. */
export function hasSecrets(file: string, keys: readonly string[]): boolean {
  const document = readStackFile(file);
  return keys.every((key) => document.hasIn(["config", key, "secure"]));
}

function readStackFile(file: string): Document {
  if (!existsSync(file)) {
    const document = new Document({ config: {} });
    document.commentBefore =
      " The lab's stack. Agents are yours to change (then ./berth lab up); the rest the lab writes.";
    return document;
  }
  const document = parseDocument(readFileSync(file, "utf8"));
  const fault = document.errors[0];
  if (fault) {
    throw new UserError(`${file} is not YAML: ${fault.message}`);
  }
  return document;
}
