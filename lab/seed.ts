import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { NODE_NAME, type Identity } from "./machine/identity.ts";
import type { LabPaths } from "./paths.ts";
import { mustRun } from "../cli/process.ts";

/** The seed: what makes a machine of the common image this lab's node. The machine unpacks it at boot. */

/** Directory of the stand-in, copied to /opt/lab/node. */
const NODE_CODE = fileURLToPath(new URL("node", import.meta.url));

/** A file of the seed with its mode. */
interface SeedFile {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

/** The files that differ from lab to lab. */
export function seedFiles(identity: Identity): SeedFile[] {
  const secret = (path: string, content: string) => ({ path, content, mode: 0o600 });
  const plain = (path: string, content: string) => ({ path, content, mode: 0o644 });
  return [
    secret("root/.ssh/authorized_keys", `${identity.sshPublicKey}\n`),
    secret("etc/ssh/ssh_host_ed25519_key", identity.hostKey),
    plain("etc/ssh/ssh_host_ed25519_key.pub", `${identity.hostPublicKey}\n`),
    plain("etc/hostname", `${NODE_NAME}\n`),
    plain("etc/hosts", `127.0.0.1 localhost\n10.210.0.1 ${NODE_NAME}.lab ${NODE_NAME}\n`),
    plain("etc/pve/lab/tls.crt", identity.tlsCertificate),
    secret("etc/pve/lab/tls.key", identity.tlsKey),
    secret("etc/pve/lab/token", `${identity.token}\n`),
  ];
}

/**
 * Writes the seed as a tar: the same bytes for the same content, so that an unchanged seed is known.
 *
 * @returns the path of the tar.
 */
export async function writeSeed(
  paths: LabPaths,
  identity: Identity,
  nodeCode = NODE_CODE,
): Promise<string> {
  const stage = mkdtempSync(paths.at(".seed-"));
  const seed = paths.at("seed.tar");
  try {
    for (const file of seedFiles(identity)) {
      const path = join(stage, file.path);
      mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
      writeFileSync(path, file.content);
      chmodSync(path, file.mode);
    }
    chmodSync(join(stage, "root"), 0o700);
    chmodSync(join(stage, "root", ".ssh"), 0o700);
    copyCode(nodeCode, join(stage, "opt", "lab", "node"));
    if (existsSync(join(nodeCode, "systemd"))) {
      copyCode(join(nodeCode, "systemd"), join(stage, "etc", "systemd", "system"));
    }
    await mustRun("tar", [
      ...["--create", "--file", `${seed}.new`, "--directory", stage],
      ...[
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=go-w",
        "--sort=name",
        "--mtime=@0",
        ".",
      ],
    ]);
    chmodSync(`${seed}.new`, 0o600);
    renameSync(`${seed}.new`, seed);
    return seed;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** A copy without what Python and the tests leave behind. */
function copyCode(from: string, to: string): void {
  cpSync(from, to, {
    recursive: true,
    filter: (source) => !/(^|\/)(__pycache__|tests|\.[^/]*_cache)$/.test(source),
  });
}
