import assert from "node:assert/strict";
import { test } from "node:test";

import { agentDocument, fleetDocument } from "../../test/support/fleet.ts";
import { ConfigError, formatFaults, pathOf } from "./faults.ts";
import { parseFleet } from "./load.ts";

function messageOf(document: Record<string, unknown>): string {
  try {
    parseFleet(document, "the test's config");
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return "";
}

test("a path quotes the keys that are no plain words", () => {
  assert.equal(
    pathOf(["agents", "bob", "files", "/etc/x", "mode"]),
    'agents.bob.files."/etc/x".mode',
  );
  assert.equal(pathOf(["agents", "bob", "packages", 0]), "agents.bob.packages.0");
});

test("one fault and several are told apart, and nothing was changed", () => {
  const fault = { path: "agents.bob.vmid", value: "99", message: "a VMID" };
  assert.equal(
    formatFaults([fault], "prod"),
    "1 fault in prod; nothing was changed:\n  agents.bob.vmid: 99 is not right: a VMID",
  );
  assert.match(formatFaults([fault, fault], "prod"), /^2 faults in prod/);
});

test("a secret in a wrong place is never repeated", () => {
  const secrets = [
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA",
    "root@pam!berth=7a8b9c0d-0000-4000-8000-000000000000",
    "PVEAPIToken=root@pam!x=7a8b9c0d",
    "sk-ant-api03-abcdefghijklmnop",
  ];
  for (const secret of secrets) {
    const document = {
      ...fleetDocument({
        bob: agentDocument(1, { pidsMax: secret, git: { name: "Bob", email: secret } }),
      }),
      proxmox: { endpoint: secret, token: secret },
      access: { keys: [secret] },
    };
    const message = messageOf(document);
    assert.match(message, /^5 faults/);
    assert.match(message, /not shown/);
    assert.ok(!message.includes(secret.slice(-12)), message);
  }
});

test("a key of the stack that holds a secret is left alone", () => {
  const document = { ...fleetDocument({}), proxmoxToken: { secure: "v1:abc" }, nodeKey: 7 };
  assert.equal(messageOf(document), "");
});

test("a long value is cut in its message", () => {
  const message = messageOf(fleetDocument({ bob: agentDocument(1, { node: "X".repeat(500) }) }));
  assert.ok(message.length < 400, message);
  assert.match(message, /"XXX.*\.\.\./);
});
