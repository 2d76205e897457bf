import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ConfigError } from "../components/config/faults.ts";
import { temporaryDirectory } from "../test/support/temporary.ts";
import { UserError } from "./errors.ts";
import { secretFaults, stackDocument } from "./stack-file.ts";

function stackFile(text: string): string {
  const file = join(temporaryDirectory("stack-file"), "Pulumi.prod.yaml");
  writeFileSync(file, text);
  return file;
}

test("the keys under berth: are read, those of other namespaces are the engine's", () => {
  const text = "config:\n  berth:agents: {}\n  pulumi:tags: {}\nencryptionsalt: v1:x\n";
  assert.deepEqual(stackDocument(stackFile(text)), { agents: {} });
});

test("a key in a wrong namespace or place is named with the right one", () => {
  const file = stackFile("config:\n  bert:agents: {}\n  nodes: {}\nagents: {}\nwhatever: 1\n");
  assert.throws(
    () => stackDocument(file),
    (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.deepEqual(
        error.faults.map((fault) => fault.path),
        ["agents", "whatever", "config.bert:agents", "config.nodes"],
      );
      assert.match(error.message, /agents: belongs under config, as berth:agents/);
      assert.match(error.message, /config\.bert:agents: is read as berth:agents only/);
      return true;
    },
  );
});

test("a secret that is not encrypted is a fault, and its value is not repeated", () => {
  const token = "berth@pve!iac=11111111-2222-3333-4444-555555555555";
  for (const value of [token, { secure: token }, { secure: "" }, 7, null, ["a"]]) {
    const faults = secretFaults({ proxmoxToken: value });
    assert.deepEqual(
      faults.map((fault) => fault.path),
      ["proxmoxToken"],
    );
    assert.ok(!JSON.stringify(faults).includes("11111111"));
  }
});

test("ciphertext of a passphrase and of a cloud's key is taken", () => {
  const ciphertexts = ["v1:abcdefghijklmnop:" + "A".repeat(40), "A".repeat(64)];
  for (const secure of ciphertexts) {
    assert.deepEqual(secretFaults({ proxmoxToken: { secure }, nodeKey: { secure } }), []);
  }
});

test("a file that is missing, no YAML, or without config is one clear line", () => {
  for (const file of ["/nonexistent.yaml", stackFile("a: [\n"), stackFile("- a\n")]) {
    assert.throws(() => stackDocument(file), UserError);
  }
});
