/** A container as the provider's inputs and its state describe it. */

import { isObject, type Properties, type Value } from "../plugin/values.ts";

export interface Address {
  readonly address?: string;
  readonly gateway?: string;
}

export interface IpConfig {
  readonly ipv4?: Address;
  readonly ipv6?: Address;
}

export interface Initialization {
  readonly dns?: {
    readonly domain?: string;
    readonly server?: string;
    readonly servers?: readonly string[];
  };
  readonly entrypoint?: string;
  readonly hostname?: string;
  readonly ipConfigs?: readonly IpConfig[];
  readonly userAccount?: {
    readonly keys?: readonly string[];
    readonly password?: string;
  };
}

export interface MountPoint {
  readonly acl: boolean;
  readonly backup: boolean;
  readonly mountOptions?: readonly string[];
  readonly path: string;
  readonly quota: boolean;
  readonly readOnly: boolean;
  readonly replicate: boolean;
  readonly shared: boolean;
  readonly size?: string;
  readonly volume: string;
}

export interface NetworkInterface {
  readonly bridge: string;
  readonly enabled: boolean;
  readonly firewall: boolean;
  readonly hostManaged: boolean;
  readonly macAddress?: string;
  readonly mtu: number;
  readonly name: string;
  readonly rateLimit: number;
  readonly vlanId: number;
}

export interface Device {
  readonly denyWrite: boolean;
  readonly gid?: number;
  readonly mode: string;
  readonly path: string;
  readonly uid?: number;
}

export interface Startup {
  readonly downDelay: number;
  readonly order: number;
  readonly upDelay: number;
}

/** A container with every default filled in. */
export interface Container {
  readonly clone?: unknown;
  readonly console: Console;
  readonly cpu: Cpu;
  readonly description?: string;
  readonly devicePassthroughs?: readonly Device[];
  readonly disk: Disk;
  readonly environmentVariables?: Readonly<Record<string, string>>;
  readonly features: Features;
  readonly hookScriptFileId?: string;
  readonly idmaps?: readonly unknown[];
  readonly initialization?: Initialization;
  readonly memory: Memory;
  readonly mountPoints?: readonly MountPoint[];
  readonly networkInterfaces?: readonly NetworkInterface[];
  readonly nodeName: string;
  readonly operatingSystem?: { readonly templateFileId: string; readonly type: string };
  readonly poolId?: string;
  readonly protection: boolean;
  readonly startOnBoot: boolean;
  readonly started: boolean;
  readonly startup?: Startup;
  readonly tags?: readonly string[];
  readonly template: boolean;
  readonly timeoutCreate: number;
  readonly timeoutDelete: number;
  readonly timeoutUpdate: number;
  readonly unprivileged: boolean;
  readonly vmId?: number;
  readonly waitForIp?: { readonly ipv4: boolean; readonly ipv6: boolean };
}

export interface Console {
  readonly enabled: boolean;
  readonly ttyCount: number;
  readonly type: string;
}

export interface Cpu {
  readonly architecture: string;
  readonly cores: number;
  readonly limit: number;
  readonly units?: number;
}

export interface Disk {
  readonly acl: boolean;
  readonly datastoreId: string;
  readonly mountOptions?: readonly string[];
  readonly quota: boolean;
  readonly replicate: boolean;
  readonly size: number;
}

export interface Features {
  readonly fuse: boolean;
  readonly keyctl: boolean;
  readonly mknod: boolean;
  readonly mounts?: readonly string[];
  readonly nesting: boolean;
}

export interface Memory {
  readonly dedicated: number;
  readonly swap: number;
}

/** What the provider takes for a block that the program leaves out. */
export const DEFAULT_BLOCKS = {
  console: { enabled: true, ttyCount: 2, type: "tty" },
  cpu: { architecture: "amd64", cores: 1, limit: 0, units: 0 },
  disk: {
    acl: false,
    datastoreId: "local",
    mountOptions: [],
    quota: false,
    replicate: false,
    size: 4,
  },
  features: { fuse: false, keyctl: false, mknod: false, mounts: [], nesting: false },
  memory: { dedicated: 512, swap: 0 },
} satisfies Properties;

/** Properties with their defaults, or a state, as a container; null is as good as absent. */
export function asContainer(properties: Properties): Container {
  return withoutNull(properties) as unknown as Container;
}

function withoutNull(value: Value): Value {
  if (Array.isArray(value)) {
    return value.map(withoutNull);
  }
  return isObject(value)
    ? Object.fromEntries(
        Object.entries(value)
          .filter(([, element]) => element !== null)
          .map(([name, element]) => [name, withoutNull(element)]),
      )
    : value;
}
