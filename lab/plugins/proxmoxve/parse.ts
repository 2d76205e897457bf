/** Values of a container's config as Proxmox writes them. */

import type { Properties, Value } from "../plugin/values.ts";

export type Options = Readonly<Record<string, string>>;

/** Values of `net0`, `net1`, … in order. */
export function numbered(config: Properties, prefix: string): string[] {
  return Object.keys(config)
    .filter((name) => new RegExp(`^${prefix}\\d+$`).test(name))
    .sort((a, b) => Number(a.slice(prefix.length)) - Number(b.slice(prefix.length)))
    .map((name) => config[name])
    .filter((value) => typeof value === "string");
}

/** `local-zfs:vol,size=8G` with a name for the value that has none. */
export function parseOptions(first: string): (text: string) => Options {
  return (text) =>
    Object.fromEntries(
      text.split(",").map((part) => {
        const [name = "", ...value] = part.trim().split("=");
        return value.length === 0 ? [first, name] : [name, value.join("=")];
      }),
    );
}

export function isOn(value: Value | undefined): boolean {
  return value === 1 || value === true || value === "1";
}

export function number(value: Value | undefined, otherwise: number): number {
  return value === undefined || value === null ? otherwise : Number(value);
}

export function split(value: Value | undefined, separator = ";"): string[] {
  return typeof value === "string" && value !== "" ? value.split(separator) : [];
}
