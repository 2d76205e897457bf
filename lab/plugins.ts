import { existsSync, globSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { UserError } from "../cli/errors.ts";
import { QUIET_ENGINE, type Engine } from "./engine.ts";
import { run } from "../cli/process.ts";
import type { Progress } from "./progress.ts";

/** The provider plugins: the official ones where they can be had, else the lab's stand-ins. */

interface Plugin {
  readonly name: string;
  readonly version: string;
  /** Where the engine gets it; none: from Pulumi's own list. */
  readonly server?: string;
}

/** The versions of package.json, whose SDKs expect exactly these. */
export const PLUGINS: readonly Plugin[] = [
  { name: "command", version: "1.2.1" },
  {
    name: "proxmoxve",
    version: "8.6.0",
    server: "github://api.github.com/muhlba91/pulumi-proxmoxve",
  },
];

/** Where official plugins come from; asked first, so that no download hangs without internet. */
const PROBE = "https://api.pulumi.com/";
const STAND_INS = fileURLToPath(new URL("plugins/bin", import.meta.url));

export type PluginKind = "official" | "stand-in";

export interface Plugins {
  readonly kind: PluginKind;
  /** Directories that the engine's PATH begins with. */
  readonly path: readonly string[];
}

/** Official plugins if they are installed or can be, else the stand-ins; BERTH_PLUGINS decides it. */
export async function ensurePlugins(engine: Engine, progress: Progress): Promise<Plugins> {
  const wish = wishOf(process.env["BERTH_PLUGINS"]);
  if (wish === "stand-in") {
    return { kind: "stand-in", path: [STAND_INS] };
  }
  const missing = PLUGINS.filter((plugin) => !isInstalled(plugin));
  if (missing.length === 0) {
    return { kind: "official", path: [] };
  }
  if (wish === "official" || (await isReachable(PROBE))) {
    for (const plugin of missing) {
      const failure = await progress.step(`Installing Pulumi's plugin ${plugin.name}`, () =>
        install(engine, plugin),
      );
      if (failure !== undefined && wish === "official") {
        throw new UserError(`cannot install the official plugin ${plugin.name}: ${failure}`);
      }
      if (failure !== undefined) {
        return { kind: "stand-in", path: [STAND_INS] };
      }
    }
    return { kind: "official", path: [] };
  }
  return { kind: "stand-in", path: [STAND_INS] };
}

export function wishOf(value: string | undefined): PluginKind | undefined {
  if (value === undefined || value === "" || value === "official" || value === "stand-in") {
    return value === "" ? undefined : value;
  }
  throw new UserError(`BERTH_PLUGINS is "${value}"`, {
    hint: "official or stand-in",
    exitCode: 64,
  });
}

/** Whether the engine has a plugin of this version: its own directory says so, without its start. */
export function isInstalled(
  plugin: Plugin,
  home = process.env["PULUMI_HOME"] ?? join(homedir(), ".pulumi"),
): boolean {
  const dir = join(home, "plugins", `resource-${plugin.name}-v${plugin.version}`);
  // Beside it, the engine keeps `.partial` while a download is not complete.
  return (
    existsSync(dir) &&
    !existsSync(`${dir}.partial`) &&
    globSync("pulumi-resource-*", { cwd: dir }).length > 0
  );
}

/** @returns the engine's complaint, or undefined when the plugin is installed. */
async function install(engine: Engine, plugin: Plugin): Promise<string | undefined> {
  const server = plugin.server === undefined ? [] : ["--server", plugin.server];
  const result = await run(
    engine.program,
    ["plugin", "install", "resource", plugin.name, plugin.version, ...server],
    { env: { ...process.env, ...QUIET_ENGINE }, timeout: 300_000 },
  );
  return result.code === 0
    ? undefined
    : (result.stderr.trim().split("\n").at(-1) ?? "no reason given");
}

async function isReachable(url: string): Promise<boolean> {
  try {
    await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(5_000) });
    return true;
  } catch {
    return false;
  }
}
