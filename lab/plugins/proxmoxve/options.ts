/** Values of request fields in Proxmox's own notation: lists, options, addresses. */

import {
  DEFAULT_BLOCKS,
  type Container,
  type Device,
  type Disk,
  type Features,
  type MountPoint,
  type NetworkInterface,
  type Startup,
} from "./container.ts";

/** The state of the root file system that an update starts from. */
export interface Rootfs {
  readonly volume: string;
}

export function bit(value: boolean): number {
  return value ? 1 : 0;
}

/** `a=1,b=x` of what is not undefined, in the order given. */
function options(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${String(typeof value === "boolean" ? bit(value) : value)}`)
    .join(",");
}

function joined(values: readonly string[] | undefined): string | undefined {
  return values === undefined || values.length === 0 ? undefined : values.join(";");
}

export function tagList(tags: readonly string[] | undefined): string | undefined {
  const trimmed = (tags ?? []).map((tag) => tag.trim()).filter((tag) => tag !== "");
  return joined(trimmed.sort());
}

export function nameservers({ initialization }: Container): string | undefined {
  const servers = initialization?.dns?.servers ?? [];
  return servers.length > 0 ? servers.join(" ") : initialization?.dns?.server;
}

export function environment({ environmentVariables }: Container): string | undefined {
  const variables = Object.entries(environmentVariables ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return variables.length === 0
    ? undefined
    : variables.map(([name, value]) => `${name}=${value}`).join("\0");
}

export function startup({ downDelay, order, upDelay }: Startup): string {
  const set = (value: number): number | undefined => (value >= 0 ? value : undefined);
  return options({ down: set(downDelay), order: set(order), up: set(upDelay) });
}

// A feature that is off is not named when a container is made, and always when it is changed:
// Proxmox then compares "0" with nothing, which a token may not change.
export function createdFeatures({ fuse, keyctl, mknod, mounts, nesting }: Features): string {
  const on = (value: boolean): boolean | undefined => (value ? true : undefined);
  return options({
    fuse: on(fuse),
    keyctl: on(keyctl),
    mount: joined(mounts),
    nesting: on(nesting),
    mknod: on(mknod),
  });
}

export function updatedFeatures({ fuse, keyctl, mknod, mounts, nesting }: Features): string {
  return options({ fuse, keyctl, mount: joined(mounts), nesting, mknod });
}

export function createdRootfs(disk: Disk, withMountPoints: boolean): string | undefined {
  const { acl, datastoreId, mountOptions, quota, replicate, size } = disk;
  const plain =
    size === DEFAULT_BLOCKS.disk.size && !withMountPoints && joined(mountOptions) === undefined;
  if (datastoreId === "" || (plain && !acl && !quota && !replicate)) {
    return undefined;
  }
  const on = (value: boolean): boolean | undefined => (value ? true : undefined);
  return options({
    acl: on(acl),
    mountoptions: joined(mountOptions),
    quota: on(quota),
    replicate: on(replicate),
    volume: `${datastoreId}:${String(size)}`,
  });
}

export function updatedRootfs(
  { acl, mountOptions, quota, replicate, size }: Disk,
  { volume }: Rootfs,
): string {
  const sorted = [...(mountOptions ?? [])].sort();
  return options({
    acl,
    size: size * 1024 ** 3,
    mountoptions: joined(sorted),
    quota,
    replicate,
    volume,
  });
}

export function createdMountPoint(mountPoint: MountPoint): string {
  const { acl, backup, mountOptions, path, quota, readOnly, replicate, shared } = mountPoint;
  const on = (value: boolean): boolean | undefined => (value ? true : undefined);
  return options({
    acl: on(acl),
    backup: on(backup),
    ...mountVolume(mountPoint, {
      mountoptions: joined(mountOptions),
      mp: path,
      quota: on(quota),
      ro: on(readOnly),
      replicate: replicate ? undefined : false,
      shared: on(shared),
    }),
  });
}

export function updatedMountPoint(mountPoint: MountPoint): string {
  const { acl, backup, mountOptions, path, quota, readOnly, replicate, shared } = mountPoint;
  return options({
    acl,
    backup,
    ...mountVolume(mountPoint, {
      mountoptions: joined(mountOptions),
      mp: path,
      quota,
      ro: readOnly,
      replicate,
      shared,
    }),
  });
}

type Options = Readonly<Record<string, string | number | boolean | undefined>>;

// A size belongs to the volume when it is to be made, and to the options when it exists.
function mountVolume({ size = "", volume }: MountPoint, between: Options): Options {
  const [datastore = "", rest = ""] = volume.split(/:(.*)/s);
  if (size === "" || rest !== "") {
    return { size: size === "" ? undefined : size, ...between, volume };
  }
  return { ...between, volume: `${datastore}:${String(Math.trunc(gigabytes(size)))}` };
}

/** A size in Proxmox's notation, as gigabytes. */
export function gigabytes(size: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?$/i.exec(size) ?? [];
  const exponent = ["", "k", "m", "g", "t"].indexOf(unit.toLowerCase());
  return number === "" ? NaN : (Number(number) * 1024 ** exponent) / 1024 ** 3;
}

export function networks(container: Container, hostManaged: boolean, updating: boolean): string[] {
  return (container.networkInterfaces ?? []).map((network, index) => {
    const { ipv4, ipv6 } = container.initialization?.ipConfigs?.[index] ?? {};
    return networkOptions(network, hostManaged, updating, {
      ip: ipv4?.address,
      gw: ipv4?.gateway,
      ip6: ipv6?.address,
      gw6: ipv6?.gateway,
    });
  });
}

function networkOptions(
  network: NetworkInterface,
  hostManagedKnown: boolean,
  updating: boolean,
  addresses: Readonly<Record<string, string | undefined>>,
): string {
  const { bridge, firewall, hostManaged, macAddress, mtu, name, rateLimit, vlanId } = network;
  const text = (value: string | undefined): string | undefined => value || undefined;
  return options({
    bridge: text(bridge),
    firewall: firewall || updating ? firewall : undefined,
    "host-managed": hostManagedKnown || hostManaged ? hostManaged : undefined,
    ...Object.fromEntries(Object.entries(addresses).map(([key, value]) => [key, text(value)])),
    hwaddr: text(macAddress),
    mtu: mtu || undefined,
    name,
    rate: rateLimit === 0 ? undefined : rateLimit.toFixed(2),
    tag: vlanId || undefined,
  });
}

export function device({ denyWrite, gid = 0, mode, path, uid = 0 }: Device): string {
  return options({ "deny-write": denyWrite, path, uid, gid, mode: mode || undefined });
}
