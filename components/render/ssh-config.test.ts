import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { HOST_KEY } from "../../test/support/fleet.ts";
import { knownHosts, sshConfig, type SshHost } from "./ssh-config.ts";

const NODE: SshHost = {
  alias: "pve1",
  address: "127.0.0.1",
  port: 2222,
  user: "root",
  hostKeys: [`${HOST_KEY} root@pve1`],
};
const BOB: SshHost = {
  alias: "bob",
  address: "10.210.0.101",
  port: 22,
  user: "bob",
  hostKeys: [HOST_KEY, "ecdsa-sha2-nistp256 AAAAE2Vj"],
  through: "pve1",
};

/** What OpenSSH makes of a configuration for one host: key and value. */
function read(config: string, alias: string): Map<string, string> {
  const directory = mkdtempSync(join(tmpdir(), "berth-ssh-"));
  try {
    writeFileSync(join(directory, "config"), config);
    const output = execFileSync("ssh", ["-G", "-F", join(directory, "config"), alias], {
      encoding: "utf8",
    });
    return new Map(
      output.split("\n").map((line): [string, string] => {
        const [key = "", ...value] = line.split(" ");
        return [key, value.join(" ")];
      }),
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("OpenSSH reads each host with its address, user, port and pinned key", () => {
  const config = sshConfig([NODE, BOB], { knownHostsFile: "/keys/known hosts" });
  const bob = read(config, "bob");
  assert.equal(bob.get("hostname"), "10.210.0.101");
  assert.equal(bob.get("port"), "22");
  assert.equal(bob.get("user"), "bob");
  assert.equal(bob.get("hostkeyalias"), "bob");
  assert.equal(bob.get("proxyjump"), "pve1");
  assert.equal(bob.get("stricthostkeychecking"), "true");
  assert.equal(bob.get("userknownhostsfile"), "/keys/known hosts");
  assert.equal(bob.get("updatehostkeys"), "false");
  assert.equal(bob.get("identitiesonly"), "no");
  const node = read(config, "pve1");
  assert.equal(node.get("hostname"), "127.0.0.1");
  assert.equal(node.get("port"), "2222");
  assert.equal(node.get("proxyjump"), undefined);
});

test("a named identity is the only one that ssh offers", () => {
  const config = sshConfig([BOB], { knownHostsFile: "/k", identityFile: "/keys/id_ed25519" });
  const bob = read(config, "bob");
  assert.equal(bob.get("identityfile"), "/keys/id_ed25519");
  assert.equal(bob.get("identitiesonly"), "yes");
});

test("known hosts have a line for each key under the host's alias, without comments", () => {
  assert.equal(
    knownHosts([NODE, BOB]),
    `pve1 ${HOST_KEY}\nbob ${HOST_KEY}\nbob ecdsa-sha2-nistp256 AAAAE2Vj\n`,
  );
  assert.equal(knownHosts([]), "");
});

test("a node that logins go through shares one connection, in the directory of the known hosts", () => {
  const config = sshConfig([NODE, BOB], { knownHostsFile: "/keys/known_hosts" });
  const node = read(config, "pve1");
  assert.equal(node.get("controlmaster"), "auto");
  assert.equal(node.get("controlpath"), "/keys/berth-pve1");
  assert.equal(node.get("controlpersist"), "60");
  assert.equal(read(config, "bob").get("controlmaster"), "false");
});

test("hosts that are reached directly share nothing", () => {
  const direct: SshHost = { ...NODE, alias: "bob", address: "192.168.1.201" };
  const config = sshConfig([NODE, direct], { knownHostsFile: "/keys/known_hosts" });
  assert.equal(read(config, "pve1").get("controlmaster"), "false");
});
