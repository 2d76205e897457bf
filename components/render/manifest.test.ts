import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { stackDocument } from "../../cli/stack-file.ts";
import { ROOT } from "../../cli/root.ts";
import { bob, OPERATOR_KEY } from "../../test/support/fleet.ts";
import { ConfigError } from "../config/faults.ts";
import { parseFleet } from "../config/load.ts";
import { stableJson } from "./json.ts";
import { manifest, type Manifest } from "./manifest.ts";

const ARGS = { keys: [OPERATOR_KEY], guestHash: "0123456789ab" };

function contentOf(rendered: Manifest, path: string): string {
  const file = rendered.files[path];
  assert.ok(file, `no ${path} in ${Object.keys(rendered.files).join(", ")}`);
  return file.content;
}

test("a manifest names the agent's user, its units and what Berth owns, and nothing else", () => {
  const rendered = manifest("bob", bob({ packages: ["jq", "git"] }), ARGS);
  assert.deepEqual(
    { ...rendered, files: Object.keys(rendered.files).sort() },
    {
      agent: "bob",
      user: { name: "bob", uid: 10_201, home: "/home/bob" },
      packages: [
        "ca-certificates",
        "dbus-user-session",
        "git",
        "jq",
        "libpam-systemd",
        "libpython3-stdlib",
        "openssh-server",
        "python3-minimal",
      ],
      files: [
        "/etc/berth/authorized_keys/bob",
        "/etc/berth/gate",
        "/etc/gitconfig",
        "/etc/ssh/sshd_config.d/10-berth.conf",
        "/etc/systemd/system/user@.service.d/berth.conf",
        "/etc/systemd/user.conf.d/berth.conf",
        "/etc/systemd/user/berth-loop-hello.service",
        "/etc/systemd/user/berth-loop-hello.timer",
        "/etc/systemd/user/berth-sessions.slice",
        "/usr/local/bin/berth",
      ],
      timers: ["berth-loop-hello.timer"],
      mask: ["tmp.mount"],
    },
  );
});

test("the sessions' slice has a fence of its own under the container's limit", () => {
  assert.equal(
    contentOf(manifest("bob", bob(), ARGS), "/etc/systemd/user/berth-sessions.slice"),
    `# All sessions and loops of agent bob; written by Berth, changes here are lost.
[Unit]
Description=Berth sessions
ConditionUser=bob

[Slice]
CPUWeight=50
MemoryHigh=671088640
TasksMax=896
`,
  );
});

test("only the agent logs in, by the operators' keys, which are not in its home", () => {
  const rendered = manifest("bob", bob(), ARGS);
  assert.equal(contentOf(rendered, "/etc/berth/authorized_keys/bob"), `${OPERATOR_KEY}\n`);
  assert.deepEqual(
    contentOf(rendered, "/etc/ssh/sshd_config.d/10-berth.conf").trimEnd().split("\n").slice(1),
    [
      "AllowUsers bob",
      "AuthorizedKeysFile /etc/berth/authorized_keys/%u",
      "PasswordAuthentication no",
      "KbdInteractiveAuthentication no",
      "PermitRootLogin no",
      "UseDNS no",
    ],
  );
});

test("the user manager accounts for each unit and gives it the agent's open files", () => {
  assert.equal(
    contentOf(manifest("bob", bob(), ARGS), "/etc/systemd/user.conf.d/berth.conf"),
    `# Written by Berth: every unit has figures of its own.
[Manager]
DefaultCPUAccounting=yes
DefaultIOAccounting=yes
DefaultLimitNOFILE=8192
DefaultMemoryAccounting=yes
DefaultTasksAccounting=yes
`,
  );
});

test("git reads the configured author, whatever is in the name", () => {
  const identity = { name: 'Bob "the \\ builder" #1; ö', email: "bob+x@agents.example.org" };
  const directory = mkdtempSync(join(tmpdir(), "berth-git-"));
  try {
    const path = join(directory, "gitconfig");
    writeFileSync(path, contentOf(manifest("bob", bob({ git: identity }), ARGS), "/etc/gitconfig"));
    const read = (key: string) =>
      execFileSync("git", ["config", "--file", path, key], { encoding: "utf8" });
    assert.equal(read("user.name"), `${identity.name}\n`);
    assert.equal(read("user.email"), `${identity.email}\n`);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a file below home belongs to the agent, with the mode of the config", () => {
  const files = { "/home/bob/notes.md": { content: "hi\n", mode: "0600" } };
  const rendered = manifest("bob", bob({ files }), ARGS);
  assert.deepEqual(rendered.files["/home/bob/notes.md"], {
    content: "hi\n",
    owner: "agent",
    mode: "0600",
  });
});

test("no file that Berth writes may be named by the config", () => {
  for (const path of Object.keys(manifest("bob", bob({}), ARGS).files)) {
    assert.throws(() => bob({ files: { [path]: { content: "" } } }), ConfigError, path);
  }
});

test("the manifests of the example fleet are small, alike at each rendering, and without holes", () => {
  const fleet = parseFleet(stackDocument(join(ROOT, "Pulumi.prod.yaml")), "Pulumi.prod.yaml");
  for (const [name, agent] of Object.entries(fleet.agents)) {
    const args = { ...ARGS, keys: fleet.access.keys };
    const text = stableJson(manifest(name, agent, args));
    assert.ok(text.length < 20_000, `${name}: ${String(text.length)} bytes`);
    assert.equal(stableJson(manifest(name, agent, args)), text);
    assert.doesNotMatch(text, /undefined|\[object |NaN|Calling \[toString\]/);
    // A manifest is readable in previews and in the state: it holds public keys only.
    assert.doesNotMatch(text, /PRIVATE KEY|PVEAPIToken|![\w-]+=/);
  }
});
