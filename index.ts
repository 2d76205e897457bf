import * as pulumi from "@pulumi/pulumi";

import { Agent, type AgentOutput } from "./components/agent.ts";
import { proxmoxProvider } from "./components/agent-container.ts";
import { loadConfig } from "./components/config/load.ts";
import { Node } from "./components/node.ts";
import { nodeConnection } from "./components/remote.ts";
import { knownHosts, sshConfig, type SshHost } from "./components/render/ssh-config.ts";
import { readRuntime } from "./components/runtime.ts";

export interface FleetOutputs {
  /** How each agent is reached and what holds it. */
  readonly agents: Readonly<Record<string, pulumi.Output<AgentOutput>>>;
  /** OpenSSH client configuration for all agents and nodes. */
  readonly sshConfig: pulumi.Output<string>;
  /** Pinned host keys, for the file that `sshConfig` names. */
  readonly knownHosts: pulumi.Output<string>;
}

/** Config -> components -> outputs. The engine calls it; so do the lab and the tests, in-process. */
export default function berth(): FleetOutputs {
  const { fleet, secrets } = loadConfig();
  const stack = pulumi.getStack();
  const runtime = readRuntime();
  const provider = proxmoxProvider(fleet.proxmox, secrets.proxmoxToken);

  const nodes = Object.entries(fleet.nodes).map(([name, config]) => {
    return new Node(name, {
      config,
      connection: nodeConnection(config, secrets.nodeKey),
      runtime,
      stack,
    });
  });
  const nodeOf = new Map(nodes.map((node) => [node.name, node]));

  const agents = Object.entries(fleet.agents).map(([name, config]): [string, Agent] => {
    const node = nodeOf.get(config.node);
    if (!node) {
      throw new pulumi.RunError(`agents.${name}.node: no node "${config.node}"`);
    }
    return [name, new Agent(name, { config, node, access: fleet.access, provider, stack })];
  });

  const nodeHosts = nodes.map((node): SshHost => ({
    alias: node.name,
    address: node.config.address,
    port: node.config.port,
    user: node.config.user,
    hostKeys: [node.config.hostKey],
  }));
  const hosts = pulumi
    .all(agents.map(([, agent]) => agent.ssh))
    .apply((guests) => [...nodeHosts, ...guests]);
  return {
    agents: Object.fromEntries(agents.map(([name, agent]) => [name, agent.info])),
    sshConfig: hosts.apply((all) => sshConfig(all, fleet.access)),
    knownHosts: hosts.apply(knownHosts),
  };
}
