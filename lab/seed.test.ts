import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import type { Identity } from "./machine/identity.ts";
import { LabPaths } from "./paths.ts";
import { mustRun } from "../cli/process.ts";
import { writeSeed } from "./seed.ts";
import { temporaryDirectory } from "../test/support/temporary.ts";

const identity: Identity = {
  sshKey: "PRIVATE-USER-KEY",
  sshPublicKey: "ssh-ed25519 AAAA user",
  hostKey: "PRIVATE-HOST-KEY",
  hostPublicKey: "ssh-ed25519 BBBB pve1",
  caFile: "/ca.crt",
  tlsCertificate: "CERTIFICATE",
  tlsKey: "TLS-KEY",
  token: "root@pam!berth=1",
  passphraseFile: "/passphrase",
  caBundleFile: "/bundle.crt",
};

async function seeded(): Promise<{ paths: LabPaths; code: string; lines: string[] }> {
  const root = temporaryDirectory("seed");
  const code = join(root, "node");
  mkdirSync(join(code, "systemd"), { recursive: true });
  mkdirSync(join(code, "pvelab", "__pycache__"), { recursive: true });
  mkdirSync(join(code, "tests"));
  writeFileSync(join(code, "systemd", "lab-node.target"), "[Unit]\n");
  writeFileSync(join(code, "pvelab", "api.py"), "x");
  writeFileSync(join(code, "pvelab", "__pycache__", "api.pyc"), "x");
  writeFileSync(join(code, "tests", "test_api.py"), "x");
  writeFileSync(join(code, "pct"), "#!/bin/sh\n", { mode: 0o775 });
  const paths = new LabPaths("lab", root);
  mkdirSync(paths.dir, { recursive: true });
  const seed = await writeSeed(paths, identity, code);
  const listing = await mustRun("tar", ["--list", "--verbose", "--numeric-owner", "--file", seed]);
  return { paths, code, lines: listing.trim().split("\n") };
}

test("secrets are root's alone, programs stay programs, nothing is writable by others", async () => {
  const { lines } = await seeded();
  const entry = (path: string) => lines.find((line) => line.endsWith(` ./${path}`)) ?? "";
  for (const path of ["etc/ssh/ssh_host_ed25519_key", "etc/pve/lab/token", "etc/pve/lab/tls.key"]) {
    assert.match(entry(path), /^-rw------- 0\/0 /, path);
  }
  assert.match(entry("root/.ssh/"), /^drwx------ 0\/0 /);
  assert.match(entry("opt/lab/node/pct"), /^-rwxr-xr-x 0\/0 /);
  assert.ok(lines.every((line) => /^.....[-]..[-]/.test(line)));
});

test("units go to systemd, the stand-in to /opt, tests and caches nowhere", async () => {
  const { lines } = await seeded();
  const paths = lines.map((line) => line.replace(/^.* \.\//, ""));
  assert.ok(paths.includes("etc/systemd/system/lab-node.target"));
  assert.ok(paths.includes("opt/lab/node/pvelab/api.py"));
  assert.ok(!paths.some((path) => /__pycache__|tests/.test(path)));
});

test("the operator's private key, the passphrase and the authority's key never enter the machine", async () => {
  const { paths } = await seeded();
  const tar = readFileSync(paths.at("seed.tar"), "latin1");
  assert.ok(tar.includes("PRIVATE-HOST-KEY"));
  assert.ok(!tar.includes("PRIVATE-USER-KEY"));
  assert.equal(statSync(paths.at("seed.tar")).mode & 0o777, 0o600);
});

test("the same content gives the same bytes, a changed file other ones", async () => {
  const { paths, code } = await seeded();
  const first = readFileSync(paths.at("seed.tar"));
  await writeSeed(paths, identity, code);
  assert.ok(first.equals(readFileSync(paths.at("seed.tar"))));
  writeFileSync(join(code, "pvelab", "api.py"), "y");
  await writeSeed(paths, identity, code);
  assert.ok(!first.equals(readFileSync(paths.at("seed.tar"))));
});
