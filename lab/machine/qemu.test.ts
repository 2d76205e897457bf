import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { lastLines, qemuArguments, type MachineSpec } from "./qemu.ts";
import { temporaryDirectory } from "../../test/support/temporary.ts";

const spec: MachineSpec = {
  image: { dir: "/i", id: "x", kernel: "/i/vmlinuz", initrd: "/i/initrd", disk: "/i/root.raw" },
  ...{ accelerator: "tcg", cpus: 2, memory: 6144, sshPort: 2201, apiPort: 2202 },
};

test("two loopback ports lead in, and nothing leads out", () => {
  const networks = qemuArguments(spec, "/p").filter((word) => word.startsWith("user,"));
  assert.deepEqual(networks, [
    "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:2201-:22,hostfwd=tcp:127.0.0.1:2202-:8006",
  ]);
});

test("the disks carry the serials that the node looks for; the seed is read-only", () => {
  const words = qemuArguments(spec, "/p");
  for (const serial of ["root", "pool", "seed"]) {
    assert.ok(words.includes(`virtio-blk-pci,drive=${serial},serial=${serial}`), serial);
  }
  assert.deepEqual(
    words.filter((word) => word.includes("readonly=on")).map((word) => /id=(\w+)/.exec(word)?.[1]),
    ["seed"],
  );
});

test("addresses are fixed under emulation only: it is for speed, and KVM does not need it", () => {
  const commandLine = (accelerator: "kvm" | "tcg") => {
    const words = qemuArguments({ ...spec, accelerator }, "/p");
    return words[words.indexOf("-append") + 1] ?? "";
  };
  assert.match(commandLine("tcg"), /\bnorandmaps\b/);
  assert.doesNotMatch(commandLine("kvm"), /\bnorandmaps\b/);
});

test("the console's last lines come without control sequences and empty lines", () => {
  const log = join(temporaryDirectory("serial"), "serial.log");
  writeFileSync(log, "one\r\n\u001b[0;32m  OK  \u001b[0m two\r\n\r\nthree\r\n");
  assert.deepEqual(lastLines(log, 2), ["  OK   two", "three"]);
  assert.deepEqual(lastLines(`${log}.none`, 2), []);
});
