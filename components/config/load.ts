import * as pulumi from "@pulumi/pulumi";
import type { z } from "zod";

import { checkFleet, derive, deriveAgents } from "./checks.ts";
import { ConfigError, faultsOf, type Fault } from "./faults.ts";
import { agentSchema, fleetSchema, nodeSchema, SECRET_KEYS, type FleetConfig } from "./schema.ts";

/** Namespace of the config keys: the project's name. */
export const NAMESPACE = "berth";

/** The secrets of a stack; they never pass through the schema, so no error can repeat them. */
export interface FleetSecrets {
  /** API token in the form `user@realm!name=uuid`. */
  readonly proxmoxToken: pulumi.Output<string>;
  /** Private key for the nodes' ssh; without it the operator's ssh agent is asked. */
  readonly nodeKey: pulumi.Output<string> | undefined;
}

/**
 * Validates a config document (the keys under `berth:` without that prefix).
 *
 * @throws ConfigError with every fault at once.
 */
export function parseFleet(
  document: Readonly<Record<string, unknown>>,
  source: string,
): FleetConfig {
  const known = Object.fromEntries(
    Object.entries(document).filter(([key]) => !(SECRET_KEYS as readonly string[]).includes(key)),
  );
  const result = fleetSchema.safeParse(known);
  if (!result.success) {
    // What can be read is checked as well, so that one run shows every fault.
    throw new ConfigError([...faultsOf(result.error, known), ...checkParts(known)], source);
  }
  const fleet = derive(result.data);
  const faults = checkFleet(fleet, Object.keys(fleet.nodes));
  if (faults.length > 0) {
    throw new ConfigError(faults, source);
  }
  return fleet;
}

/** The faults between those nodes and agents of a broken config that are right in themselves. */
function checkParts(known: Readonly<Record<string, unknown>>): Fault[] {
  const nodes = readable(nodeSchema, known["nodes"]);
  const agents = readable(agentSchema, known["agents"]);
  const nodeNames = Object.keys(asRecord(known["nodes"]));
  return checkFleet({ nodes, agents: deriveAgents(agents) }, nodeNames);
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The entries of a record that its schema accepts. */
function readable<T extends z.ZodType>(schema: T, record: unknown): Record<string, z.output<T>> {
  const entries = Object.entries(asRecord(record)).flatMap(
    ([key, value]): [string, z.output<T>][] => {
      const result = schema.safeParse(value);
      return result.success ? [[key, result.data]] : [];
    },
  );
  return Object.fromEntries(entries);
}

/** The config and secrets of the running stack; the only reader of `pulumi.Config`. */
export function loadConfig(): { fleet: FleetConfig; secrets: FleetSecrets } {
  const config = new pulumi.Config(NAMESPACE);
  const source = `the config of stack "${pulumi.getStack()}"`;
  try {
    const fleet = parseFleet(configDocument(), source);
    return {
      fleet,
      secrets: {
        proxmoxToken: config.requireSecret("proxmoxToken"),
        nodeKey: config.getSecret("nodeKey"),
      },
    };
  } catch (error) {
    if (error instanceof ConfigError) {
      // RunError shows the message alone: a stack trace would bury the faults.
      throw new pulumi.RunError(error.message);
    }
    throw error;
  }
}

/** All keys of the project's namespace, objects parsed; so that a misspelt key is found as well. */
function configDocument(): Record<string, unknown> {
  const faults: Fault[] = [];
  const document = Object.entries(pulumi.runtime.allConfig())
    .filter(([key]) => key.startsWith(`${NAMESPACE}:`))
    .map(([key, text]): [string, unknown] => {
      const name = key.slice(NAMESPACE.length + 1);
      if ((SECRET_KEYS as readonly string[]).includes(name)) {
        return [name, undefined];
      }
      try {
        return [name, JSON.parse(text)];
      } catch {
        faults.push({ path: name, message: "an object, as in docs/config.md" });
        return [name, undefined];
      }
    });
  if (faults.length > 0) {
    throw new ConfigError(faults, `the config of stack "${pulumi.getStack()}"`);
  }
  return Object.fromEntries(document);
}
