import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

import { UserError } from "../cli/errors.ts";
import { machineConfig, writeStackFile } from "./config.ts";
import { ensureEngine, type Engine } from "./engine.ts";
import { releaseDeadLocks } from "./engine-lock.ts";
import { stackEnvironment } from "./environment.ts";
import { prepareHost } from "./host.ts";
import { ensureImage, hasImage } from "./image/image.ts";
import { withLock } from "./lock.ts";
import { ensureIdentity, type Identity } from "./machine/identity.ts";
import {
  checkSize,
  ownImage,
  readRecord,
  runningPid,
  startMachine,
  type MachineRecord,
  type MachineSize,
} from "./machine/machine.ts";
import { FILES } from "./machine/qemu.ts";
import { waitForApi, waitForLogin, waitForSsh } from "./machine/ready.ts";
import type { LabPaths } from "./paths.ts";
import { ensurePlugins } from "./plugins.ts";
import type { Progress } from "./progress.ts";
import { writeSeed } from "./seed.ts";
import { onAgent, onNode, writeNodeSshFiles } from "./ssh.ts";
import { openStack, upStack, type UpResult } from "./stack.ts";

export const DEFAULT_SIZE: MachineSize = { cpus: 2, memory: 6144 };

/** Everything that a later step, or a test, needs to work with a lab whose node is up. */
export interface RunningLab {
  readonly paths: LabPaths;
  readonly identity: Identity;
  readonly record: MachineRecord;
  readonly engine: Engine;
  /** Environment for the engine on the lab's stack. */
  readonly environment: Readonly<Record<string, string>>;
}

/** From a fresh machine to the fleet; each step that is done already is quick. */
export async function up(
  paths: LabPaths,
  size: MachineSize,
  progress: Progress,
): Promise<UpResult> {
  const lab = await startLab(paths, size, progress);
  return withLock(paths.at("up.lock"), { wait: 0 }, () => upFleet(lab, progress));
}

/** Up to a node that answers, with an engine and plugins; no fleet yet. */
export async function startLab(
  paths: LabPaths,
  size: MachineSize,
  progress: Progress,
): Promise<RunningLab> {
  return withLock(paths.at("lock"), { wait: 0 }, async () => {
    const kept = ownImage(paths);
    const needsImage = kept === undefined && !hasImage();
    await prepareHost(progress, needsImage ? ["machine", "image"] : ["machine"]);
    const image = kept ?? (await ensureImage(progress));
    const identity = await ensureIdentity(paths);
    const record = await startNode(
      paths,
      identity,
      size,
      () => startMachine(paths, image, size),
      progress,
    );
    const engine = await ensureEngine(progress);
    const plugins = await ensurePlugins(engine, progress);
    progress.say(`Engine ${engine.version} (${engine.from}), plugins: ${plugins.kind}`);
    const environment = stackEnvironment(paths, identity, engine, plugins);
    return { paths, identity, record, engine, environment };
  });
}

/** Writes the stack's config, runs the program, and keeps what it publishes for ssh. */
export async function upFleet(lab: RunningLab, progress: Progress): Promise<UpResult> {
  const { paths, identity } = lab;
  writeStackFile(paths.stackFile, machineConfig(paths, identity, lab.record));
  progress.say(`Bringing up the fleet (stack ${paths.name})`);
  for (const pid of releaseDeadLocks(paths.at("state"))) {
    progress.say(`Removed the lock of an engine that is gone (process ${String(pid)})`);
  }
  const stack = await openStack(paths, identity, lab.engine, lab.environment);
  const result = await upStack(stack, (text) => process.stdout.write(text));
  writeFileSync(paths.at("ssh_config"), result.outputs.sshConfig, { mode: 0o600 });
  writeFileSync(paths.at("known_hosts"), result.outputs.knownHosts, { mode: 0o600 });
  const agents = Object.keys(result.outputs.agents);
  await progress.step("Logging in to the agents", async () => {
    for (const agent of agents) {
      await waitForLogin(agent, () => onAgent(paths, agent, ["true"]));
    }
  });
  return result;
}

/** Starts the machine, or brings a running one to the current seed; then the node's API answers. */
async function startNode(
  paths: LabPaths,
  identity: Identity,
  size: MachineSize,
  start: () => Promise<MachineRecord>,
  progress: Progress,
): Promise<MachineRecord> {
  const seed = await writeSeed(paths, identity);
  const sum = createHash("sha256").update(readFileSync(seed)).digest("hex");
  const before = runningPid(paths) === undefined ? undefined : readRecord(paths);
  if (before !== undefined) {
    checkSize(before, size);
    progress.say("The node's machine is running");
  }
  const record = before ?? (await start());
  writeNodeSshFiles(paths, identity, record.sshPort);
  const how = record.accelerator === "kvm" ? "KVM" : "emulation: about a minute";
  await progress.step(before ? "Asking the node" : `Booting the node's machine (${how})`, () =>
    waitForSsh(paths, () => onNode(paths, ["true"])),
  );
  // Without the stamp an earlier run was interrupted while the machine was booting.
  const stamp = paths.at("seed.sha256");
  const had = before !== undefined && existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
  if (before !== undefined && had !== sum) {
    await progress.step("Bringing the node's stand-in up to date", () => pushSeed(paths));
  }
  writeFileSync(stamp, sum);
  await progress.step("Waiting for the node's API", () =>
    waitForApi(paths, record.apiPort, identity.caFile),
  );
  return record;
}

/** What the seed disk does at boot, on a machine that runs already; containers are left alone. */
async function pushSeed(paths: LabPaths): Promise<void> {
  const input = readFileSync(paths.at(FILES.seed));
  const result = await onNode(
    paths,
    ["sh", "-c", "lab-seed - && systemctl restart lab-node.target"],
    { input },
  );
  if (result.code !== 0) {
    throw new UserError(`the node did not take its new seed: ${result.stderr.trim()}`);
  }
}
