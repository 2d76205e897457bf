import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { LabPaths } from "../paths.ts";
import { chooseAccelerator, printsBanner } from "./accelerator.ts";
import { killMachine, ownImage, runningPid } from "./machine.ts";
import { freePort, isFree } from "./ports.ts";
import { qmp } from "./qmp.ts";
import { temporaryDirectory } from "../../test/support/temporary.ts";

function newPaths(): LabPaths {
  const paths = new LabPaths("lab", temporaryDirectory("machine"));
  mkdirSync(paths.dir, { recursive: true });
  return paths;
}

test("a process with the recorded number is the machine only if it was started as this machine", async () => {
  const paths = newPaths();
  assert.equal(runningPid(paths), undefined);
  writeFileSync(paths.at("qemu.pid"), String(process.pid));
  assert.equal(runningPid(paths), undefined, "another program");
  const start = (pidFile: string) => {
    const script = "setInterval(() => {}, 1000)";
    return spawn(process.execPath, ["-e", script, "x", "-pidfile", pidFile]);
  };
  const other = start(new LabPaths("lab-other", "/repo").at("qemu.pid"));
  writeFileSync(paths.at("qemu.pid"), String(other.pid));
  assert.equal(runningPid(paths), undefined, "the machine of another lab");
  await killMachine(paths);
  assert.equal(other.exitCode ?? other.signalCode, null, "another's machine is left alone");
  other.kill();
  const own = start(paths.at("qemu.pid"));
  writeFileSync(paths.at("qemu.pid"), `${String(own.pid)}\n`);
  assert.equal(runningPid(paths), own.pid);
  await killMachine(paths);
  assert.equal(runningPid(paths), undefined);
});

test("a lab whose image was built anew since does not start on it", () => {
  const paths = newPaths();
  const imageDir = temporaryDirectory("image");
  assert.equal(ownImage(paths), undefined);
  writeFileSync(join(imageDir, "id"), "first\n");
  writeFileSync(paths.at("machine.json"), JSON.stringify({ imageDir, imageId: "first" }));
  assert.equal(ownImage(paths), undefined, "no disk yet");
  writeFileSync(paths.at("root.qcow2"), "");
  assert.equal(ownImage(paths)?.id, "first");
  writeFileSync(join(imageDir, "id"), "second\n");
  assert.throws(() => ownImage(paths), /is gone from the cache/);
});

test("KVM is taken for what runs a guest, not for a device that opens", async () => {
  const image = { dir: "/", id: "", kernel: "/no/kernel", initrd: "/no/initrd", disk: "" };
  assert.equal(await chooseAccelerator(image, "/no/such/device"), "tcg");
  assert.equal(await chooseAccelerator(image, "/dev/null"), "tcg");
  assert.equal(
    await printsBanner("sh", ["-c", "echo '[0.0] Linux version 6.12'; exec sleep 60"]),
    true,
  );
  assert.equal(await printsBanner("sh", ["-c", "exec sleep 60"], 100), false);
  assert.equal(await printsBanner("berth-no-such-program", []), false);
});

test("a port is free until somebody listens", async () => {
  const port = await freePort();
  assert.equal(await isFree(port), true);
  const server = createServer();
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  assert.equal(await isFree(port), false);
  server.close();
});

test("the monitor's handshake comes first, its errors are passed on, its path may be long", async () => {
  const dir = temporaryDirectory("long".repeat(30));
  const received: string[] = [];
  const server = createServer((socket) => {
    socket.write('{"QMP": {"version": {}}}\n');
    socket.on("data", (chunk) => {
      const { execute } = JSON.parse(chunk.toString()) as { execute: string };
      received.push(execute);
      socket.write(
        execute === "bad" ? '{"error": {"desc": "no"}}\n' : '{"event": "X"}\n{"return": {}}\n',
      );
    });
  });
  // Bound by a short name, as QEMU does it, from within the directory.
  const back = process.cwd();
  process.chdir(dir);
  await new Promise<void>((done) => server.listen("qmp.sock", done));
  process.chdir(back);
  try {
    await qmp(dir, "qmp.sock", "system_powerdown");
    assert.deepEqual(received, ["qmp_capabilities", "system_powerdown"]);
    await assert.rejects(qmp(dir, "qmp.sock", "bad"), /^Error: no$/);
  } finally {
    server.close();
  }
});
