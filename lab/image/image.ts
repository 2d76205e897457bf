import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { withLock } from "../lock.ts";
import { cacheDir } from "../paths.ts";
import { asRoot, mustRun } from "../../cli/process.ts";
import type { Progress } from "../progress.ts";
import {
  GUEST_PACKAGES,
  imageFile,
  inputHash,
  NODE_PACKAGES,
  OFFLINE_PACKAGES,
  SUITE,
  TEMPLATE,
} from "./inputs.ts";
import { debianMirror } from "./mirror.ts";

/** What a virtual machine boots from; shared by all labs and never written to. */
export interface Image {
  readonly dir: string;
  /** Tells this build from another one of the same inputs. */
  readonly id: string;
  readonly kernel: string;
  readonly initrd: string;
  /** Raw ext4 disk, the backing file of each lab's own disk. */
  readonly disk: string;
}

/** Longest that one builder waits for another one. */
const BUILD_TIME = 45 * 60_000;

/** Directories of builds under way; what is found under this name without a builder is left over. */
const SCRATCH = ".build-";

/** One step of the build: made once for each hash of its inputs, then found in the cache. */
interface Stage {
  readonly what: string;
  /** Where the result is when it is complete, and only then. */
  readonly result: string;
  /** Program and arguments, run as root; `output` is where to put the result. */
  readonly command: (output: string) => readonly string[];
}

/** The image in a directory; undefined when there is none. */
export function readImage(dir: string): Image | undefined {
  const id = join(dir, "id");
  return existsSync(id)
    ? {
        dir,
        id: readFileSync(id, "utf8").trim(),
        kernel: join(dir, "vmlinuz"),
        initrd: join(dir, "initrd"),
        disk: join(dir, "root.raw"),
      }
    : undefined;
}

/** Whether the image is there already, so that no build tools are needed. */
export function hasImage(cache = cacheDir()): boolean {
  return readImage(imageDir(cache)) !== undefined;
}

/** The image for the current inputs, built where it is missing; a build picks up where one ended. */
export async function ensureImage(progress: Progress, cache = cacheDir()): Promise<Image> {
  const dir = imageDir(cache);
  if (!existsSync(dir)) {
    await withLock(
      join(cache, "image", "lock"),
      {
        wait: BUILD_TIME,
        onWait: (pid) => {
          progress.say(`Waiting for process ${String(pid)}, which is building the image`);
        },
      },
      async () => {
        for (const left of globSync(`${SCRATCH}*`, { cwd: join(cache, "image") })) {
          await remove(join(cache, "image", left));
        }
        for (const stage of stages(cache)) {
          await build(stage, cache, progress);
        }
      },
    );
  }
  const image = readImage(dir);
  if (image === undefined) {
    throw new Error(`the image in ${dir} is not complete`);
  }
  return image;
}

/** Runs a stage in a directory of its own and moves the result into place when it is complete. */
async function build(stage: Stage, cache: string, progress: Progress): Promise<void> {
  if (existsSync(stage.result)) {
    return;
  }
  mkdirSync(dirname(stage.result), { recursive: true });
  const work = mkdtempSync(join(cache, "image", SCRATCH));
  try {
    const output = join(work, basename(stage.result));
    // The unpacked systems are larger than a /tmp in memory may be.
    const [program, args] = asRoot("env", [`TMPDIR=${work}`, "sh", ...stage.command(output)]);
    await progress.step(stage.what, () => mustRun(program, args));
    renameSync(output, stage.result);
  } finally {
    await remove(work);
  }
}

/** Never into another file system: a builder that was killed may have left mounts in its tree. */
async function remove(dir: string): Promise<void> {
  const [program, args] = asRoot("rm", ["-rf", "--one-file-system", dir]);
  await mustRun(program, args);
}

function stages(cache: string): Stage[] {
  const { rootfs, template, image } = hashes();
  const owner = `${String(process.getuid?.() ?? 0)}:${String(process.getgid?.() ?? 0)}`;
  const mirror = debianMirror();
  const rootfsTar = join(cache, "image", "rootfs", `${rootfs}.tar`);
  const templateTar = join(cache, "image", "template", `${template}.tar.zst`);
  return [
    {
      what: "Building the node's system with its ZFS module (about 7 minutes, once)",
      result: rootfsTar,
      command: (output) => [imageFile("rootfs.sh"), SUITE, mirror, NODE_PACKAGES.join(","), output],
    },
    {
      what: "Building the container template (under a minute, once)",
      result: templateTar,
      command: (output) => [
        imageFile("template.sh"),
        SUITE,
        mirror,
        GUEST_PACKAGES.join(","),
        output,
        ...OFFLINE_PACKAGES,
      ],
    },
    {
      what: "Making the virtual machine's disk",
      result: join(cache, "image", image),
      command: (output) => [imageFile("disk.sh"), rootfsTar, templateTar, TEMPLATE, output, owner],
    },
  ];
}

function imageDir(cache: string): string {
  return join(cache, "image", hashes().image);
}

/** One hash a stage, over what that stage reads; the mirror is not part of it. */
function hashes(): { rootfs: string; template: string; image: string } {
  const rootfs = inputHash([SUITE, ...NODE_PACKAGES], ["rootfs.sh"]);
  const template = inputHash(
    [SUITE, ...GUEST_PACKAGES, "offline", ...OFFLINE_PACKAGES],
    ["template.sh", "guest"],
  );
  return {
    rootfs,
    template,
    image: inputHash([rootfs, template, TEMPLATE], ["disk.sh", "node"]),
  };
}
