import * as proxmox from "@muhlba91/pulumi-proxmoxve";
import * as pulumi from "@pulumi/pulumi";

import type { AgentConfig, FleetConfig, NodeConfig } from "./config/schema.ts";

/** The only file that knows proxmoxve's types: v8 renamed them without aliases, v9 may again. */

const GiB = 2 ** 30;
const MiB = 2 ** 20;

/** Covers a clean shutdown of all sessions and the destruction of the root; the default of 60 s does not. */
const DELETE_SECONDS = 600;

export function proxmoxProvider(
  config: FleetConfig["proxmox"],
  token: pulumi.Output<string>,
): pulumi.ProviderResource {
  return new proxmox.Provider("proxmox", { endpoint: config.endpoint, apiToken: token });
}

/** The tags that make a container ours, lower case and sorted as Proxmox keeps them. */
export function tagsOf(stack: string): string[] {
  return ["berth", `berth-${stack.toLowerCase()}`];
}

/** What the provider is given for one agent; also what `prepare` reads, so that it runs before every update. */
export function containerInputs(name: string, agent: AgentConfig, node: NodeConfig, stack: string) {
  return {
    nodeName: agent.node,
    vmId: agent.vmid,
    tags: tagsOf(stack),
    unprivileged: true,
    startOnBoot: true,
    // Created stopped: no first boot without limits and home. `apply` starts it.
    started: false,
    // systemd in the guest needs nesting from the first boot on; a token may set it at creation only.
    features: { nesting: true },
    operatingSystem: { type: osType(node.template), templateFileId: node.template },
    cpu: { cores: agent.cores },
    memory: { dedicated: agent.memory.max / MiB, swap: agent.memory.swap / MiB },
    disk: { datastoreId: node.datastore, size: Math.ceil(agent.rootSize / GiB) },
    initialization: {
      hostname: name,
      ipConfigs: [
        {
          ipv4: {
            address: agent.address,
            ...(agent.gateway === undefined ? {} : { gateway: agent.gateway }),
          },
        },
      ],
    },
    networkInterfaces: [{ name: "eth0", bridge: node.bridge }],
    timeoutDelete: DELETE_SECONDS,
  };
}

export interface ContainerOptions extends pulumi.CustomResourceOptions {
  readonly parent: pulumi.Resource;
}

export function agentContainer(
  name: string,
  inputs: ReturnType<typeof containerInputs>,
  agent: Pick<AgentConfig, "replace" | "retired">,
  opts: ContainerOptions,
): proxmox.ContainerLegacy {
  return new proxmox.ContainerLegacy(name, inputs, {
    ...opts,
    protect: agent.replace === undefined && !agent.retired,
    // With a fixed VMID the provider takes the old machine for the new one and then deletes it.
    deleteBeforeReplace: true,
    ignoreChanges: [
      // A mount made by hand would plan a replacement (bpg#3028).
      "mountPoints",
      // Whether it runs is the operator's; refreshing would shut a running machine down.
      "started",
      // A newer template is for new machines.
      "operatingSystem.templateFileId",
      "disk.datastoreId",
      // The provider reboots on a change of memory that Proxmox takes live: `apply` owns it.
      "memory",
    ],
  });
}

/** What tells two containers with one VMID apart: the MAC address that Proxmox drew at creation. */
export function instanceOf(container: proxmox.ContainerLegacy): pulumi.Output<string> {
  return container.networkInterfaces.apply((all) => all?.[0]?.macAddress ?? "");
}

/** Proxmox's name of the distribution in a template, which decides how it sets up the network. */
function osType(template: string): string {
  return /vztmpl\/(debian|ubuntu|devuan)-/.exec(template)?.[1] ?? "unmanaged";
}
