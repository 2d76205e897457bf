import { checkAgent } from "./agent-checks.ts";
import type { Fault } from "./faults.ts";
import type { AgentConfig, FleetConfig, NodeConfig, RawFleet } from "./schema.ts";
import { formatSize } from "./units.ts";

/** What only the whole fleet tells: derived defaults, clashes, and sums against the nodes. */

const MiB = 2 ** 20;

/** Fills in what follows from other keys. */
export function derive(raw: RawFleet): FleetConfig {
  return { ...raw, agents: deriveAgents(raw.agents) };
}

export function deriveAgents(raw: RawFleet["agents"]): FleetConfig["agents"] {
  const agents = Object.entries(raw).map(([name, agent]): [string, AgentConfig] => [
    name,
    {
      ...agent,
      uid: agent.uid ?? (10_000 + agent.vmid <= 65_533 ? 10_000 + agent.vmid : 0),
      memory: {
        ...agent.memory,
        high: agent.memory.high ?? Math.floor((agent.memory.max * 7) / 8 / MiB) * MiB,
      },
    },
  ]);
  return Object.fromEntries(agents);
}

/**
 * Every fault that the schema cannot see.
 *
 * @param nodeNames - the nodes that the config names, those included that are themselves at fault.
 */
export function checkFleet(
  fleet: Pick<FleetConfig, "nodes" | "agents">,
  nodeNames: readonly string[],
): Fault[] {
  const agents = Object.entries(fleet.agents);
  return [
    ...agents.flatMap(([name, agent]) => [
      ...(nodeNames.includes(agent.node)
        ? []
        : [
            {
              path: `agents.${name}.node`,
              value: JSON.stringify(agent.node),
              message: `a key of nodes (${nodeNames.join(", ")})`,
            },
          ]),
      // Both are names that the operator's ssh knows.
      ...(nodeNames.includes(name)
        ? [{ path: `agents.${name}`, message: "a name that is not a node's" }]
        : []),
      ...checkAgent(name, agent, fleet.nodes[agent.node]),
    ]),
    ...clashes(agents, "vmid", (agent) => String(agent.vmid)),
    ...clashes(agents, "address", (agent) => agent.address.split("/")[0] ?? agent.address),
    ...clashes(agents, "uid", (agent) => String(agent.uid)),
    ...Object.entries(fleet.nodes).flatMap(([name, node]) => checkNode(name, node, agents)),
  ];
}

/** Two agents may not share a value that names one thing in the cluster or on the network. */
function clashes(
  agents: readonly [string, AgentConfig][],
  key: string,
  identity: (agent: AgentConfig) => string,
): Fault[] {
  const first = new Map<string, string>();
  return agents.flatMap(([name, agent]): Fault[] => {
    const value = identity(agent);
    const other = first.get(value);
    first.set(value, other ?? name);
    return other === undefined
      ? []
      : [
          {
            path: `agents.${name}.${key}`,
            value: JSON.stringify(value),
            message: `one of its own; agent "${other}" has it`,
          },
        ];
  });
}

/** A node must carry the hard limits of all its agents at once: an OOM kill costs more than memory. */
function checkNode(
  name: string,
  node: NodeConfig,
  agents: readonly [string, AgentConfig][],
): Fault[] {
  const here = agents.filter(([, agent]) => agent.node === name);
  const limits = here.reduce((sum, [, agent]) => sum + agent.memory.max, 0);
  const room = node.memory - node.reserve;
  if (limits <= room) {
    return [];
  }
  const parts = here
    .map(([agentName, agent]) => `${agentName} ${formatSize(agent.memory.max)}`)
    .join(", ");
  return [
    {
      path: `nodes.${name}.memory`,
      value: formatSize(node.memory),
      message: `at least ${formatSize(limits + node.reserve)}: the sum of memory.max (${parts}) and the reserve of ${formatSize(node.reserve)}`,
    },
  ];
}
