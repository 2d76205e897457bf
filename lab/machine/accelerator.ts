import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";

import type { Image } from "../image/image.ts";
import { probeArguments, type Accelerator } from "./qemu.ts";

/** Longest that a kernel under KVM may take to its first line; on real hardware it is under a second. */
const PROBE_TIME = 8_000;

/**
 * KVM where it really runs a guest, emulation elsewhere. The device alone tells nothing: inside some
 * virtual machines it is there, opens, and never executes a guest's first instruction.
 */
export async function chooseAccelerator(image: Image, device = "/dev/kvm"): Promise<Accelerator> {
  try {
    accessSync(device, constants.R_OK | constants.W_OK);
  } catch {
    return "tcg";
  }
  return (await printsBanner("qemu-system-x86_64", probeArguments(image))) ? "kvm" : "tcg";
}

/** Whether a program prints a Linux kernel's first line in time; it is ended either way. */
export function printsBanner(
  program: string,
  args: readonly string[],
  time = PROBE_TIME,
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
    let output = "";
    let found = false;
    const timer = setTimeout(() => child.kill("SIGKILL"), time);
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (/Linux version \d/.test(output)) {
        found = true;
        child.kill("SIGKILL");
      }
    });
    child.on("error", () => {
      clearTimeout(timer);
      resolve(false);
    });
    child.on("close", () => {
      clearTimeout(timer);
      resolve(found);
    });
  });
}
