import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Debian's own mirror network, for machines that are not Debian themselves. */
const DEFAULT_MIRROR = "http://deb.debian.org/debian";

/** The Debian mirror that this machine uses itself, so that a local one is honoured. */
export function debianMirror(etc = "/etc"): string {
  if (!/^ID="?debian"?$/m.test(read(join(etc, "os-release")))) {
    return DEFAULT_MIRROR;
  }
  const dir = join(etc, "apt", "sources.list.d");
  const names = list(dir);
  const deb822 = names
    .filter((name) => name.endsWith(".sources"))
    .map((name) => read(join(dir, name)));
  const oneLine = names
    .filter((name) => name.endsWith(".list"))
    .map((name) => read(join(dir, name)));
  const sources = [
    ...deb822.flatMap(fromDeb822),
    ...[read(join(etc, "apt", "sources.list")), ...oneLine].flatMap(fromOneLine),
  ];
  return (
    sources.find((uri) => /^https?:\/\/.*\/debian\/?$/.test(uri))?.replace(/\/$/, "") ??
    DEFAULT_MIRROR
  );
}

/** URIs of the stanzas that are enabled and have binary packages of Debian's main archive. */
function fromDeb822(text: string): string[] {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const field = (key: string) =>
      new RegExp(`^${key}:[ \\t]*(.+)$`, "mi").exec(stanza)?.[1]?.split(/\s+/) ?? [];
    const on = !field("Enabled").includes("no") && field("Types").includes("deb");
    return on && field("Components").includes("main") ? field("URIs") : [];
  });
}

function fromOneLine(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const match = /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+\S+\s+(.*)$/.exec(line.trim());
    return match?.[1] !== undefined && match[2]?.split(/\s+/).includes("main") ? [match[1]] : [];
  });
}

function list(dir: string): string[] {
  try {
    return readdirSync(dir).sort();
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
