import * as pulumi from "@pulumi/pulumi";

import { agentContainer, containerInputs, instanceOf } from "./agent-container.ts";
import type { AgentConfig, FleetConfig } from "./config/schema.ts";
import type { Node } from "./node.ts";
import { nodeCommand } from "./remote.ts";
import { RUNTIME_MOUNT } from "./render/gate.ts";
import { containerLimits, type ContainerLimits } from "./render/limits.ts";
import { homeOf, manifest } from "./render/manifest.ts";
import type { SshHost } from "./render/ssh-config.ts";

/** First host id of an unprivileged container's ids, as Proxmox maps them. */
const IDMAP_BASE = 100_000;
/** Where a node keeps the guests' programs, one directory a hash. */
const GUEST_PROGRAMS = "/var/lib/berth/guest";
/** Time limit of `apply` on the node, in seconds: a first boot with packages on a slow mirror. */
const APPLY_SECONDS = 1800;

export interface AgentArgs {
  readonly config: AgentConfig;
  /** The node that carries the container. */
  readonly node: Node;
  /** Login keys of the operators. */
  readonly access: FleetConfig["access"];
  readonly provider: pulumi.ProviderResource;
  readonly stack: string;
}

/** How one agent is reached and what holds it, as the stack's output says it. */
export interface AgentOutput {
  readonly node: string;
  readonly vmid: number;
  readonly address: string;
  readonly ssh: string;
  readonly dataset: string;
  /** Bytes and counts, as in force on the node. */
  readonly limits: ContainerLimits;
  /** What only a restart of the container will bring. */
  readonly pending: readonly string[];
}

interface ApplyResult {
  readonly hostKeys: readonly string[];
  readonly limits: ContainerLimits;
  readonly pending: readonly string[];
}

/** The berth of one agent: a container with limits that hold and a home that outlives it. */
export class Agent extends pulumi.ComponentResource {
  readonly info: pulumi.Output<AgentOutput>;
  readonly ssh: pulumi.Output<SshHost>;

  constructor(name: string, args: AgentArgs, opts: pulumi.ComponentResourceOptions = {}) {
    super("berth:index:Agent", name, {}, opts);
    const { config, node, stack } = args;
    const dataset = `${node.config.pool}/${name}`;
    const inputs = containerInputs(name, config, node.config, stack);
    const identity = { agent: name, stack, node: config.node, vmid: config.vmid, dataset };

    const prepare = nodeCommand(
      `${name}-prepare`,
      {
        node: node.connection,
        program: [`${node.programs}/prepare.py`],
        // The container's inputs are here so that an identity check precedes each of its updates.
        document: {
          ...identity,
          quota: config.home.quota,
          uid: config.uid,
          idmapBase: IDMAP_BASE,
          container: inputs,
        },
      },
      { parent: this, dependsOn: node },
    );
    const container = agentContainer(name, inputs, config, {
      parent: this,
      provider: args.provider,
      dependsOn: prepare,
    });
    const apply = nodeCommand(
      `${name}-apply`,
      {
        node: node.connection,
        // A machine that was destroyed by hand and made anew has the old id but a new address on
        // its interface: then everything in it has to be applied again.
        program: [`${node.programs}/apply.py`, "--instance", instanceOf(container)],
        remove: [`${node.programs}/apply.py`, "--delete"],
        document: {
          ...identity,
          guestHash: node.runtime.guestHash,
          restart: config.restart,
          deadline: APPLY_SECONDS,
          limits: { ...containerLimits(config), guestReserve: config.memory.guestReserve },
          mounts: [
            { source: `/${dataset}/home`, target: homeOf(name).slice(1), readOnly: false },
            { source: GUEST_PROGRAMS, target: RUNTIME_MOUNT.slice(1), readOnly: true },
          ],
          guest: manifest(name, config, {
            keys: args.access.keys,
            guestHash: node.runtime.guestHash,
          }),
        },
      },
      // No deletedWith: the deletion takes the last snapshot and stops the machine cleanly, and
      // when it fails the container stays.
      { parent: this, dependsOn: container, replaceWith: [container] },
    );

    const applied = apply.stdout.apply((text) => JSON.parse(text) as ApplyResult);
    const address = config.address.split("/")[0] ?? config.address;
    this.info = pulumi.output({
      node: config.node,
      vmid: config.vmid,
      address,
      ssh: `ssh ${name}`,
      dataset,
      limits: applied.limits,
      pending: applied.pending,
    });
    this.ssh = pulumi.output({
      alias: name,
      address,
      port: 22,
      user: name,
      hostKeys: applied.hostKeys,
      ...(node.config.guestAccess === "through-node" ? { through: node.name } : {}),
    });
    this.registerOutputs({ info: this.info, ssh: this.ssh });
  }
}
