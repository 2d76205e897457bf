/** The bodies of the provider's requests to Proxmox, byte for byte as the official one's. */

import type { Container } from "./container.ts";
import {
  bit,
  createdFeatures,
  createdMountPoint,
  createdRootfs,
  device,
  environment,
  nameservers,
  networks,
  startup,
  tagList,
  updatedFeatures,
  updatedMountPoint,
  updatedRootfs,
  type Rootfs,
} from "./options.ts";

/** Form fields by name; several values make several fields of that name. */
export type Body = Record<string, string | number | readonly string[]>;

const MAX_INTERFACES = 10;

/** Encoded as Go encodes it: sorted by name. */
export function encodeBody(body: Body): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    for (const one of typeof value === "object" ? value : [value]) {
      fields.append(name, String(one));
    }
  }
  fields.sort();
  return fields.toString();
}

export function createBody(container: Container, vmid: number, hostManaged: boolean): Body {
  const { operatingSystem, initialization } = container;
  if (operatingSystem === undefined) {
    throw new Error('"operating_system": required field is not set');
  }
  const console = container.console;
  const cpu = container.cpu;
  const { disk } = container;
  const memory = container.memory;
  const mountPoints = container.mountPoints ?? [];
  return {
    vmid,
    ostemplate: operatingSystem.templateFileId,
    ostype: operatingSystem.type,
    storage: disk.datastoreId,
    console: bit(console.enabled),
    cmode: console.type,
    tty: console.ttyCount,
    arch: cpu.architecture,
    cores: cpu.cores,
    cpulimit: cpu.limit,
    memory: memory.dedicated,
    swap: memory.swap,
    onboot: bit(container.startOnBoot),
    protection: bit(container.protection),
    start: bit(container.started),
    template: bit(container.template),
    unprivileged: bit(container.unprivileged),
    ...present("cpuunits", cpu.units),
    ...present("description", container.description),
    ...present("hookscript", container.hookScriptFileId),
    ...present("searchdomain", initialization?.dns?.domain),
    ...present("nameserver", nameservers(container)),
    ...present("hostname", initialization?.hostname),
    ...present("entrypoint", initialization?.entrypoint),
    ...present("ssh-public-keys", initialization?.userAccount?.keys?.join("\n")),
    ...present("password", initialization?.userAccount?.password),
    ...present("pool", container.poolId),
    ...present("tags", tagList(container.tags)),
    ...present("features", createdFeatures(container.features)),
    ...present("env", environment(container)),
    ...present("startup", container.startup && startup(container.startup)),
    ...present("rootfs", createdRootfs(disk, mountPoints.length > 0)),
    ...numbered("mp", mountPoints.map(createdMountPoint)),
    ...numbered("net", networks(container, hostManaged, false)),
    ...numbered("dev", (container.devicePassthroughs ?? []).map(device)),
  };
}

/** The body of an update, for the properties that `changed` says changed. */
export function updateBody(
  container: Container,
  changed: (property: string) => boolean,
  rootfs: Rootfs | undefined,
  hostManaged: boolean,
): Body {
  const body: Body = {};
  const removed: string[] = [];
  const set = (name: string, value: string | undefined): void => {
    if (value === undefined || value === "") {
      removed.push(name);
    } else {
      body[name] = value;
    }
  };
  const { initialization } = container;
  if (changed("description")) {
    body["description"] = container.description ?? "";
  }
  if (changed("console")) {
    const console = container.console;
    Object.assign(body, {
      console: bit(console.enabled),
      cmode: console.type,
      tty: console.ttyCount,
    });
  }
  if (changed("cpu")) {
    const cpu = container.cpu;
    Object.assign(body, { arch: cpu.architecture, cores: cpu.cores });
    set("cpulimit", cpu.limit > 0 ? String(cpu.limit) : undefined);
    Object.assign(body, present("cpuunits", cpu.units));
  }
  if (changed("disk") && rootfs !== undefined) {
    body["rootfs"] = updatedRootfs(container.disk, rootfs);
  }
  if (changed("environmentVariables")) {
    set("env", environment(container));
  }
  if (changed("features")) {
    body["features"] = updatedFeatures(container.features);
  }
  if (changed("hookScriptFileId")) {
    set("hookscript", container.hookScriptFileId);
  }
  if (changed("initialization.dns")) {
    set("searchdomain", initialization?.dns?.domain);
    set("nameserver", nameservers(container));
  }
  if (changed("initialization.hostname")) {
    body["hostname"] = initialization?.hostname ?? "";
  }
  if (changed("initialization.entrypoint")) {
    set("entrypoint", initialization?.entrypoint);
  }
  if (changed("memory")) {
    const memory = container.memory;
    Object.assign(body, { memory: memory.dedicated, swap: memory.swap });
  }
  if (changed("devicePassthroughs")) {
    Object.assign(body, numbered("dev", (container.devicePassthroughs ?? []).map(device)));
  }
  if (changed("mountPoints")) {
    Object.assign(body, numbered("mp", (container.mountPoints ?? []).map(updatedMountPoint)));
  }
  if (changed("initialization.ipConfigs") || changed("networkInterfaces")) {
    const interfaces = networks(container, hostManaged, true);
    Object.assign(body, numbered("net", interfaces));
    (container.networkInterfaces ?? []).forEach(({ enabled }, index) => {
      if (!enabled) {
        removed.push(`net${String(index)}`);
      }
    });
    for (let index = interfaces.length; index < MAX_INTERFACES; index += 1) {
      removed.push(`net${String(index)}`);
    }
  }
  if (changed("startup")) {
    set("startup", container.startup && startup(container.startup));
  }
  if (changed("operatingSystem")) {
    body["ostype"] = container.operatingSystem?.type ?? "unmanaged";
  }
  if (changed("protection")) {
    body["protection"] = bit(container.protection);
  }
  if (changed("startOnBoot")) {
    body["onboot"] = bit(container.startOnBoot);
  }
  if (changed("tags")) {
    body["tags"] = tagList(container.tags) ?? "";
  }
  return removed.length > 0 ? { ...body, delete: removed } : body;
}

/** The field, unless its value is none: empty or zero. */
function present(name: string, value: string | number | undefined): Body {
  return value === undefined || value === "" || value === 0 ? {} : { [name]: value };
}

function numbered(prefix: string, values: readonly string[]): Body {
  return Object.fromEntries(values.map((value, index) => [`${prefix}${String(index)}`, value]));
}
