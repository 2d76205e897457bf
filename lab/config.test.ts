import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { parse } from "yaml";

import { parseFleet } from "../components/config/load.ts";
import { hasSecrets, machineConfig, writeStackFile } from "./config.ts";
import { LabPaths } from "./paths.ts";
import { temporaryDirectory } from "../test/support/temporary.ts";

const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBvWJwTNrsSxmv+2EIm6Ehn0Mgf5EIMmPUfbTPoTJDLB x";
const record = {
  ...{ cpus: 2, memory: 4096, sshPort: 2200, apiPort: 8006 },
  ...{ accelerator: "tcg" as const, imageDir: "/i", imageId: "x" },
};
const machine = (sshPort = 2200) =>
  machineConfig(
    new LabPaths("lab", "/repo"),
    { sshPublicKey: KEY, hostPublicKey: KEY },
    { ...record, sshPort },
  );
const file = () => join(temporaryDirectory("config"), "Pulumi.lab.yaml");
const readConfig = (path: string) =>
  (parse(readFileSync(path, "utf8")) as { config: Record<string, unknown> }).config;

test("a new lab's config is a valid fleet of two agents that are not alike", () => {
  const path = file();
  writeStackFile(path, machine());
  const config = Object.entries(readConfig(path)).map(([key, value]) => [
    key.replace(/^berth:/, ""),
    value,
  ]);
  const fleet = parseFleet(Object.fromEntries(config) as Record<string, unknown>, path);
  assert.deepEqual(Object.keys(fleet.agents), ["bob", "alice"]);
  assert.notEqual(fleet.agents["bob"]?.memory.max, fleet.agents["alice"]?.memory.max);
  assert.equal(fleet.nodes["pve1"]?.port, 2200);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("a second time the machine's keys follow the machine; agents, secrets and comments stay", () => {
  const path = file();
  writeFileSync(
    path,
    `encryptionsalt: v1:salt
config:
  # only bob
  berth:agents:
    bob: { vmid: 300 }
  berth:proxmoxToken:
    secure: v1:text
`,
  );
  writeStackFile(path, machine(2299));
  const config = readConfig(path);
  assert.deepEqual(config["berth:agents"], { bob: { vmid: 300 } });
  assert.equal((config["berth:nodes"] as { pve1: { port: number } }).pve1.port, 2299);
  assert.match(readFileSync(path, "utf8"), /# only bob/);
  assert.match(readFileSync(path, "utf8"), /encryptionsalt: v1:salt/);
  assert.equal(hasSecrets(path, ["berth:proxmoxToken"]), true);
  assert.equal(hasSecrets(path, ["berth:proxmoxToken", "berth:nodeKey"]), false);
});

test("an unchanged config leaves the file untouched", () => {
  const path = file();
  writeStackFile(path, machine());
  const before = statSync(path).mtimeMs;
  writeStackFile(path, machine());
  assert.equal(statSync(path).mtimeMs, before);
});

test("a stack file that is not YAML is an error that names it", () => {
  const path = file();
  writeFileSync(path, "config: [");
  assert.throws(() => {
    writeStackFile(path, machine());
  }, /Pulumi\.lab\.yaml is not YAML/);
});
