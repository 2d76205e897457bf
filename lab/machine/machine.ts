import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";

import { UserError } from "../../cli/errors.ts";
import { readImage, type Image } from "../image/image.ts";
import { pause } from "../interrupt.ts";
import type { LabPaths } from "../paths.ts";
import { mustRun } from "../../cli/process.ts";
import { chooseAccelerator } from "./accelerator.ts";
import { freePort, isFree } from "./ports.ts";
import { FILES, qemuArguments, type Accelerator } from "./qemu.ts";
import { qmp } from "./qmp.ts";

/** The lab's virtual machine: started in the background, found again by later commands, stopped. */

const GiB = 2 ** 30;
/** Size of the disk that carries the ZFS pool; sparse. */
const POOL_SIZE = 20 * GiB;
/** Longest that a clean shutdown may take: containers first, then the node, emulated. */
const SHUTDOWN_TIME = 180_000;

export interface MachineSize {
  readonly cpus: number;
  /** MiB. */
  readonly memory: number;
}

/** What is written down when a machine is started, for the commands that come later. */
export interface MachineRecord extends MachineSize {
  readonly sshPort: number;
  readonly apiPort: number;
  readonly accelerator: Accelerator;
  /** Image that the machine's own disk is a difference to. */
  readonly imageDir: string;
  readonly imageId: string;
}

export function readRecord(paths: LabPaths): MachineRecord | undefined {
  try {
    return JSON.parse(readFileSync(paths.at("machine.json"), "utf8")) as MachineRecord;
  } catch {
    return undefined;
  }
}

/** Process id of this lab's running machine. A left-over file, or a number given to another, is none. */
export function runningPid(paths: LabPaths): number | undefined {
  try {
    const pid = Number(readFileSync(pidFile(paths), "utf8").trim());
    const words = readFileSync(`/proc/${String(pid)}/cmdline`, "utf8").split("\0");
    const at = words.indexOf("-pidfile");
    return at >= 0 && words[at + 1] === pidFile(paths) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Starts the machine that is not running: disks are made where they are missing, ports kept. */
export async function startMachine(
  paths: LabPaths,
  image: Image,
  size: MachineSize,
): Promise<MachineRecord> {
  const before = readRecord(paths);
  const record: MachineRecord = {
    ...size,
    sshPort: await port(before?.sshPort),
    apiPort: await port(before?.apiPort),
    accelerator: await chooseAccelerator(image),
    imageDir: image.dir,
    imageId: image.id,
  };
  mkdirSync(paths.dir, { recursive: true, mode: 0o700 });
  rmSync(paths.at(FILES.serial), { force: true });
  writeFileSync(paths.at("machine.json"), `${JSON.stringify(record, null, 2)}\n`);
  await makeDisks(paths, image);
  await mustRun("qemu-system-x86_64", qemuArguments({ ...record, image }, pidFile(paths)), {
    cwd: paths.dir,
  });
  return record;
}

/** Stops the machine as its power button would; what does not stop in time is ended. */
export async function stopMachine(paths: LabPaths): Promise<void> {
  const pid = runningPid(paths);
  if (pid === undefined) {
    return;
  }
  // A machine that is still booting misses the button: it is pressed again until it works.
  const deadline = Date.now() + SHUTDOWN_TIME;
  for (let turn = 0; runningPid(paths) === pid && Date.now() < deadline; turn += 1) {
    if (turn % 20 === 0) {
      await qmp(paths.dir, FILES.monitor, "system_powerdown").catch(() => undefined);
    }
    await pause(500);
  }
  await killMachine(paths);
}

/** Ends the machine at once, as pulling its plug would. */
export async function killMachine(paths: LabPaths): Promise<void> {
  const pid = runningPid(paths);
  if (pid !== undefined) {
    process.kill(pid, "SIGKILL");
    while (runningPid(paths) === pid) {
      await pause(50);
    }
  }
}

/**
 * The image of the last start: a lab keeps the one that its disk is a difference to, as a node is not
 * installed anew because there is a newer Debian. Undefined for a lab without a disk.
 */
export function ownImage(paths: LabPaths): Image | undefined {
  const record = readRecord(paths);
  if (record === undefined || !existsSync(paths.at(FILES.root))) {
    return undefined;
  }
  const image = readImage(record.imageDir);
  if (image?.id !== record.imageId) {
    throw new UserError(`the image of lab "${paths.name}" is gone from the cache`, {
      hint: `./berth lab destroy --name ${paths.name}, then lab up; this lab's disks cannot be read without it`,
    });
  }
  return image;
}

/** Disks that are not there yet; one that is half made has another name. */
async function makeDisks(paths: LabPaths, image: Image): Promise<void> {
  if (!existsSync(paths.at(FILES.root))) {
    const partial = paths.at(`${FILES.root}.new`);
    await mustRun("qemu-img", [
      ...["create", "-q", "-f", "qcow2", "-b", image.disk, "-F", "raw", partial],
    ]);
    renameSync(partial, paths.at(FILES.root));
  }
  if (!existsSync(paths.at(FILES.pool))) {
    writeFileSync(paths.at(FILES.pool), "", { mode: 0o600 });
    truncateSync(paths.at(FILES.pool), POOL_SIZE);
  }
}

/** The port of the last time, so that the stack's config stays as it is; another one if it is taken. */
async function port(last: number | undefined): Promise<number> {
  return last !== undefined && (await isFree(last)) ? last : await freePort();
}

function pidFile(paths: LabPaths): string {
  return paths.at("qemu.pid");
}

/** Fails when a machine of another size runs than is asked for. */
export function checkSize(record: MachineRecord, size: MachineSize): void {
  if (record.memory !== size.memory || record.cpus !== size.cpus) {
    throw new UserError("the lab's machine runs with another size", {
      hint: "./berth lab down, then lab up with the size",
    });
  }
}
