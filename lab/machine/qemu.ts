import { readFileSync } from "node:fs";

import type { Image } from "../image/image.ts";

/** What a lab's virtual machine looks like, as QEMU's command line. */

export type Accelerator = "kvm" | "tcg";

export interface MachineSpec {
  readonly image: Image;
  readonly accelerator: Accelerator;
  readonly cpus: number;
  /** MiB. */
  readonly memory: number;
  /** Ports of the host's loopback that lead to the node. */
  readonly sshPort: number;
  readonly apiPort: number;
}

/** Files in the lab's directory, which is QEMU's working directory: a socket's path must be short. */
export const FILES = {
  root: "root.qcow2",
  pool: "pool.raw",
  seed: "seed.tar",
  serial: "serial.log",
  monitor: "qmp.sock",
} as const;

/** Arguments of qemu-system-x86_64; it goes into the background by itself once the machine runs. */
export function qemuArguments(spec: MachineSpec, pidFile: string): string[] {
  return [
    ...accelerate(spec.accelerator),
    ...["-name", "berth-lab", "-m", String(spec.memory), "-smp", String(spec.cpus)],
    ...["-kernel", spec.image.kernel, "-initrd", spec.image.initrd],
    ...["-append", kernelCommandLine(spec.accelerator)],
    ...disk("root", FILES.root, "qcow2"),
    ...disk("pool", FILES.pool, "raw"),
    ...disk("seed", FILES.seed, "raw", ",readonly=on"),
    // The machine reaches nothing; two loopback ports reach it.
    ...[
      "-netdev",
      `user,id=net,restrict=on,${forward(spec.sshPort, 22)},${forward(spec.apiPort, 8006)}`,
    ],
    ...["-device", "virtio-net-pci,netdev=net", "-device", "virtio-rng-pci"],
    ...["-nodefaults", "-no-user-config", "-display", "none"],
    ...["-serial", `file:${FILES.serial}`, "-qmp", `unix:${FILES.monitor},server=on,wait=off`],
    ...["-pidfile", pidFile, "-daemonize"],
  ];
}

/** Arguments for a short look whether a guest runs at all: no disk, its console on standard output. */
export function probeArguments(image: Pick<Image, "kernel" | "initrd">): string[] {
  return [
    ...accelerate("kvm"),
    ...["-m", "256", "-kernel", image.kernel, "-initrd", image.initrd],
    ...["-append", "console=ttyS0 panic=-1", "-no-reboot"],
    ...["-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio"],
  ];
}

function accelerate(accelerator: Accelerator): string[] {
  return accelerator === "kvm"
    ? ["-accel", "kvm", "-cpu", "host"]
    : ["-accel", "tcg,thread=multi", "-cpu", "max"];
}

function kernelCommandLine(accelerator: Accelerator): string {
  return [
    "root=LABEL=lab-root rw console=ttyS0 quiet",
    "apparmor=1 security=apparmor",
    // Nobody else's code runs beside the guests, and emulation pays dearly for each of these.
    "mitigations=off",
    // The image is complete: no unit that updates caches after an update of /usr.
    "systemd.condition-needs-update=0",
    // QEMU keeps translated code by its virtual address: programs that always load at the same one
    // start twice as fast (an ssh login 0.9 s instead of 1.8 s on a busy machine).
    ...(accelerator === "tcg" ? ["norandmaps"] : []),
  ].join(" ");
}

function disk(serial: string, file: string, format: string, more = ""): string[] {
  // A lab that loses power is made again: no flush to the host's disk is worth its time.
  return [
    ...[
      "-drive",
      `if=none,id=${serial},file=${file},format=${format},cache=unsafe,discard=unmap${more}`,
    ],
    ...["-device", `virtio-blk-pci,drive=${serial},serial=${serial}`],
  ];
}

function forward(hostPort: number, guestPort: number): string {
  return `hostfwd=tcp:127.0.0.1:${String(hostPort)}-:${String(guestPort)}`;
}

/** Last lines of a machine's console, without the terminal's control sequences. */
export function lastLines(serialLog: string, count: number): string[] {
  let text = "";
  try {
    text = readFileSync(serialLog, "utf8");
  } catch {
    return [];
  }
  return text
    .replaceAll(/\u001b\[[0-9;?!]*[A-Za-z]/g, "")
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .slice(-count);
}
