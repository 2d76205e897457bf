import { existsSync, writeFileSync } from "node:fs";

import { UserError } from "../cli/errors.ts";
import { knownHosts, sshConfig } from "../components/render/ssh-config.ts";
import { shellWord } from "../components/remote.ts";
import { NODE_NAME, type Identity } from "./machine/identity.ts";
import type { LabPaths } from "./paths.ts";
import { run, runHere, type ProgramOptions, type ProgramResult } from "../cli/process.ts";

/** ssh into the lab, with files of its own: no key, no known host of the operator is touched. */

const NOT_INTERACTIVE = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"];

/** Client configuration for root on the node: needed before the stack exists that publishes one. */
export function writeNodeSshFiles(paths: LabPaths, identity: Identity, port: number): void {
  const node = {
    alias: NODE_NAME,
    address: "127.0.0.1",
    port,
    user: "root",
    hostKeys: [identity.hostPublicKey],
  };
  writeFileSync(paths.at("node.known_hosts"), knownHosts([node]));
  writeFileSync(
    paths.at("node.ssh_config"),
    sshConfig([node], {
      knownHostsFile: paths.at("node.known_hosts"),
      identityFile: paths.at("id_ed25519"),
    }),
  );
}

/** Runs a command as root on the node, not interactive. */
export function onNode(
  paths: LabPaths,
  command: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  return run("ssh", sshArguments(paths, undefined, command, NOT_INTERACTIVE), options);
}

/** Runs a command as an agent in its machine, not interactive. */
export function onAgent(
  paths: LabPaths,
  agent: string,
  command: readonly string[],
): Promise<ProgramResult> {
  return run("ssh", sshArguments(paths, agent, command, NOT_INTERACTIVE));
}

/** Arguments for ssh to the node or an agent; the command's words arrive as they are here. */
export function sshArguments(
  paths: LabPaths,
  agent: string | undefined,
  command: readonly string[],
  options: readonly string[] = [],
): string[] {
  const config = paths.at(agent === undefined ? "node.ssh_config" : "ssh_config");
  return [
    ...["-F", config, ...options, agent ?? NODE_NAME],
    ...(command.length === 0 ? [] : ["--", command.map(shellWord).join(" ")]),
  ];
}

/** ssh with this terminal. @returns its exit code, which is the command's. */
export async function openSsh(
  paths: LabPaths,
  agent: string | undefined,
  command: readonly string[],
): Promise<number> {
  const args = sshArguments(paths, agent, command);
  if (!existsSync(args[1] ?? "")) {
    throw new UserError(`lab "${paths.name}" is not up`, { hint: "./berth lab up", exitCode: 69 });
  }
  return runHere("ssh", args);
}
