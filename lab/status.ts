import { existsSync, readFileSync } from "node:fs";

import { readRecord, runningPid } from "./machine/machine.ts";
import type { LabPaths } from "./paths.ts";
import { onNode } from "./ssh.ts";

/** A few lines about a lab: its machine, its ports, the containers on its node. */
export async function status(paths: LabPaths): Promise<string> {
  const record = readRecord(paths);
  if (record === undefined) {
    return `lab ${paths.name}: not there. Next: ./berth lab up\n`;
  }
  const pid = runningPid(paths);
  if (pid === undefined) {
    return `lab ${paths.name}: stopped. Next: ./berth lab up\n`;
  }
  const lines = [
    `lab ${paths.name}: machine running (process ${String(pid)}, ${record.accelerator}, ${String(record.cpus)} CPUs, ${String(record.memory)} MiB)`,
    `  ssh   127.0.0.1:${String(record.sshPort)}   ./berth lab ssh`,
    `  API   https://127.0.0.1:${String(record.apiPort)}/`,
    `  agents published: ${agentsOf(paths).join(", ") || "none"}`,
  ];
  const containers = await onNode(paths, ["pct", "list"], { timeout: 30_000 });
  const shown =
    containers.code === 0 ? containers.stdout : `not readable: ${containers.stderr.trim()}\n`;
  return `${lines.join("\n")}\n${shown.trimEnd().replaceAll(/^/gm, "  ")}\n`;
}

/** Hosts of the published ssh configuration that are reached through the node: the agents. */
function agentsOf(paths: LabPaths): string[] {
  if (!existsSync(paths.at("ssh_config"))) {
    return [];
  }
  const blocks = readFileSync(paths.at("ssh_config"), "utf8")
    .split(/^Host /m)
    .slice(1);
  return blocks
    .filter((block) => block.includes("ProxyJump"))
    .map((block) => block.split("\n")[0] ?? "")
    .sort();
}
