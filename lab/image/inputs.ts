import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What the lab's image is made of. A change here, or in a script beside it, makes a new image. */

export const SUITE = "trixie";

/** Name under which the node offers the container template, as Proxmox names its own. */
export const TEMPLATE = "debian-13-standard_13.1-2_amd64.tar.zst";

/** The node: kernel, ZFS, LXC and what a Proxmox node has and our scripts use. */
export const NODE_PACKAGES: readonly string[] = [
  "linux-image-cloud-amd64",
  "linux-headers-cloud-amd64",
  "zfs-dkms",
  "zfsutils-linux",
  "systemd-sysv",
  "dbus",
  "openssh-server",
  "lxc",
  "lxcfs",
  "uidmap",
  "apparmor",
  "bridge-utils",
  "iproute2",
  "dnsmasq-base",
  "nftables",
  "python3",
  "git",
  "ca-certificates",
  "jq",
  "rsync",
  "zstd",
];

/** A container, as Proxmox's standard template has them. */
export const GUEST_PACKAGES: readonly string[] = [
  "systemd-sysv",
  "dbus",
  "dbus-user-session",
  "libpam-systemd",
  "openssh-server",
  "ifupdown",
  "iproute2",
  "iputils-ping",
  "netbase",
  "procps",
  "util-linux",
  "ca-certificates",
  "python3",
  "git",
];

/** What can be installed in a container without a network, with all that it depends on. */
export const OFFLINE_PACKAGES: readonly string[] = ["jq", "tree"];

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** A script or directory of this folder. */
export function imageFile(name: string): string {
  return join(HERE, name);
}

/** Hash over texts and over files and directories of this folder, modes included. */
export function inputHash(texts: readonly string[], files: readonly string[]): string {
  const hash = createHash("sha256");
  const add = (text: string | Buffer) => hash.update(`${String(text.length)}:`).update(text);
  texts.forEach(add);
  const walk = (name: string) => {
    const path = imageFile(name);
    const stat = statSync(path);
    if (stat.isDirectory()) {
      readdirSync(path)
        .sort()
        .forEach((entry) => {
          walk(join(name, entry));
        });
    } else {
      add(name);
      add((stat.mode & 0o100).toString(8));
      add(readFileSync(path));
    }
  };
  files.forEach(walk);
  return hash.digest("hex").slice(0, 12);
}
