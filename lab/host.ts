import { readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

import { UserError } from "../cli/errors.ts";
import { asRoot, mustRun, run } from "../cli/process.ts";
import type { Progress } from "./progress.ts";

/** What the lab needs of the machine that it runs on, and how that gets there. */

interface Requirement {
  /** A program, or a file when it starts with a slash. */
  readonly needs: string;
  readonly package: string;
}

/** What a machine is wanted for. */
export type Purpose = "machine" | "image" | "tests";

const SSH: Requirement = { needs: "ssh", package: "openssh-client" };
const OPENSSL: Requirement = { needs: "openssl", package: "openssl" };

const REQUIREMENTS: Readonly<Record<Purpose, readonly Requirement[]>> = {
  machine: [
    SSH,
    OPENSSL,
    { needs: "qemu-system-x86_64", package: "qemu-system-x86" },
    { needs: "qemu-img", package: "qemu-utils" },
    { needs: "tar", package: "tar" },
    { needs: "/etc/ssl/certs/ca-certificates.crt", package: "ca-certificates" },
  ],
  image: [
    { needs: "mmdebstrap", package: "mmdebstrap" },
    { needs: "mkfs.ext4", package: "e2fsprogs" },
    { needs: "zstd", package: "zstd" },
    { needs: "apt-ftparchive", package: "apt-utils" },
    { needs: "gpgv", package: "gpgv" },
    { needs: "/usr/share/keyrings/debian-archive-keyring.gpg", package: "debian-archive-keyring" },
  ],
  tests: [
    SSH,
    OPENSSL,
    { needs: "git", package: "git" },
    { needs: "python3", package: "python3" },
    { needs: "pip3", package: "python3-pip" },
  ],
};

/** The line for a machine that the lab does not run on; undefined when it does. */
export function unsupported(osRelease: string, arch: string): string | undefined {
  const field = (key: string) =>
    new RegExp(`^${key}="?([^"\\n]*)"?$`, "m").exec(osRelease)?.[1] ?? "";
  const version = Number(field("VERSION_ID"));
  const fits =
    arch === "x64" &&
    ((field("ID") === "debian" && (version === 12 || version === 13)) ||
      (field("ID") === "ubuntu" && version >= 24.04));
  return fits
    ? undefined
    : `the lab runs on Debian 12 or 13 and Ubuntu 24.04 or later, on x86-64; this is ${
        field("PRETTY_NAME") || "an unknown system"
      } on ${arch === "x64" ? "x86-64" : arch}`;
}

/** Refuses a machine that the lab cannot run on, and installs the packages that are missing. */
export async function prepareHost(progress: Progress, purposes: readonly Purpose[]): Promise<void> {
  const reason = unsupported(readText("/etc/os-release"), process.arch);
  if (reason !== undefined) {
    throw new UserError(reason, { exitCode: 69 });
  }
  const missing = purposes
    .flatMap((purpose) => REQUIREMENTS[purpose])
    .filter((requirement) => !isThere(requirement.needs));
  if (missing.length > 0) {
    await installPackages(
      [...new Set(missing.map((requirement) => requirement.package))],
      progress,
    );
  }
}

/** Fails unless commands can be run as root: image building and apt need it. */
export async function requireRoot(): Promise<void> {
  if (process.getuid?.() !== 0 && (await run("sudo", ["-n", "true"])).code !== 0) {
    throw new UserError("this needs root, to install packages and to build the lab's image", {
      hint: "run it as root, or `sudo -v` first, so that sudo does not ask",
      exitCode: 77,
    });
  }
}

/** Installs packages of the distribution; their lists are fetched only when it does not work without. */
export async function installPackages(
  packages: readonly string[],
  progress: Progress,
): Promise<void> {
  await requireRoot();
  const apt = (...args: readonly string[]) => {
    const [program, list] = asRoot("env", ["DEBIAN_FRONTEND=noninteractive", "apt-get", ...args]);
    return run(program, list);
  };
  const installArgs = ["install", "--yes", "--quiet", "--no-install-recommends", ...packages];
  await progress.step(`Installing ${packages.join(", ")} (apt-get)`, async () => {
    if ((await apt(...installArgs)).code === 0) {
      return;
    }
    // Package lists that are missing or too old: fetched only now, it takes a while.
    const [program, list] = asRoot("apt-get", ["update", "--quiet"]);
    await mustRun(program, list);
    const second = await apt(...installArgs);
    if (second.code !== 0) {
      throw new UserError(`apt-get could not install ${packages.join(", ")}`, {
        hint: second.stderr.trim().split("\n").at(-1) ?? "",
      });
    }
  });
}

/** Whether a file is there, or a program on PATH or where root's programs are. */
export function isThere(needs: string, path = process.env["PATH"] ?? ""): boolean {
  const candidates = needs.startsWith("/")
    ? [needs]
    : [...path.split(delimiter), "/usr/sbin", "/sbin"].map((dir) => join(dir, needs));
  return candidates.some((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true);
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
