import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

import type { LabPaths } from "../paths.ts";
import { mustRun } from "../../cli/process.ts";

/** The keys of one lab. They are made once, are this lab's alone, and die with it. */
export interface Identity {
  /** Private key for root on the node and for the agents' users. */
  readonly sshKey: string;
  readonly sshPublicKey: string;
  /** Host key of the node: pinned before the machine's first boot. */
  readonly hostKey: string;
  readonly hostPublicKey: string;
  /** Certificate authority and certificate of the node's API. */
  readonly caFile: string;
  readonly tlsCertificate: string;
  readonly tlsKey: string;
  /** API token, `root@pam!berth=<uuid>`. */
  readonly token: string;
  /** File with the passphrase of the stack's secrets. */
  readonly passphraseFile: string;
  /** The system's certificate authorities and this lab's. */
  readonly caBundleFile: string;
}

/** Name of the Proxmox node, in its own certificate, in the config and in ssh. */
export const NODE_NAME = "pve1";

const SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

/** Makes what is missing of a lab's keys and reads them. */
export async function ensureIdentity(paths: LabPaths): Promise<Identity> {
  mkdirSync(paths.dir, { recursive: true, mode: 0o700 });
  await sshKeyPair(paths, "id_ed25519", `berth lab ${paths.name}`);
  await sshKeyPair(paths, "host_key", NODE_NAME);
  await certificates(paths);
  secretFile(paths.at("token"), () => `root@pam!berth=${randomUUID()}`);
  secretFile(paths.at("passphrase"), () => randomBytes(24).toString("base64url"));
  // The operator's own authorities stay trusted: the same environment fetches plugins.
  writeFileSync(paths.at("ca-bundle.crt"), `${read(SYSTEM_BUNDLE)}\n${read(paths.at("ca.crt"))}\n`);
  return readIdentity(paths);
}

export function readIdentity(paths: LabPaths): Identity {
  return {
    sshKey: read(paths.at("id_ed25519")),
    sshPublicKey: read(paths.at("id_ed25519.pub")).trim(),
    hostKey: read(paths.at("host_key")),
    hostPublicKey: read(paths.at("host_key.pub")).trim(),
    caFile: paths.at("ca.crt"),
    tlsCertificate: read(paths.at("tls.crt")),
    tlsKey: read(paths.at("tls.key")),
    token: read(paths.at("token")).trim(),
    passphraseFile: paths.at("passphrase"),
    caBundleFile: paths.at("ca-bundle.crt"),
  };
}

async function sshKeyPair(paths: LabPaths, name: string, comment: string): Promise<void> {
  if (existsSync(paths.at(name)) && existsSync(paths.at(`${name}.pub`))) {
    return;
  }
  rmSync(paths.at(name), { force: true });
  await mustRun("ssh-keygen", [
    "-q",
    "-t",
    "ed25519",
    "-N",
    "",
    "-C",
    comment,
    "-f",
    paths.at(name),
  ]);
}

/** An authority of the lab's own and the API's certificate, signed by it. */
async function certificates(paths: LabPaths): Promise<void> {
  if (existsSync(paths.at("tls.crt"))) {
    return;
  }
  const config = paths.at("openssl.cnf");
  writeFileSync(
    config,
    `[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:true, pathlen:0
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = IP:127.0.0.1, DNS:localhost, DNS:${NODE_NAME}
`,
  );
  const request = (...args: readonly string[]) =>
    mustRun("openssl", [
      ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 825".split(" "),
      ...["-config", config, ...args],
    ]);
  await request(
    ...["-extensions", "authority", "-subj", `/CN=Berth lab ${paths.name}`],
    ...["-keyout", paths.at("ca.key"), "-out", paths.at("ca.crt")],
  );
  const partial = paths.at("tls.crt.new");
  await request(
    ...["-extensions", "server", "-subj", `/CN=${NODE_NAME}`],
    ...["-CA", paths.at("ca.crt"), "-CAkey", paths.at("ca.key")],
    ...["-keyout", paths.at("tls.key"), "-out", partial],
  );
  // The authority signs once: without its key nobody can make another trusted certificate.
  rmSync(paths.at("ca.key"));
  rmSync(config);
  renameSync(partial, paths.at("tls.crt"));
}

function secretFile(file: string, make: () => string): void {
  if (!existsSync(file)) {
    writeFileSync(`${file}.new`, `${make()}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

function read(file: string): string {
  return readFileSync(file, "utf8");
}
