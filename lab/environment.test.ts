import assert from "node:assert/strict";
import { dirname } from "node:path";
import { test } from "node:test";

import { shellWord } from "../components/remote.ts";
import { shellExports, stackEnvironment } from "./environment.ts";
import { LabPaths } from "./paths.ts";
import { run } from "../cli/process.ts";

const environment = stackEnvironment(
  new LabPaths("lab", "/my repo"),
  { passphraseFile: "/s/passphrase", caBundleFile: "/s/ca-bundle.crt" },
  { program: "/cache/engine/pulumi", version: "3.276.0", from: "cache" },
  { kind: "stand-in", path: ["/plugins/bin"] },
  `/usr/bin:${dirname(process.execPath)}:/bin`,
);

test("plugins come first, then this Node, then the engine, each directory once", () => {
  assert.equal(
    environment["PATH"],
    `/plugins/bin:${dirname(process.execPath)}:/cache/engine:/usr/bin:/bin`.replace(
      /:\/usr\/bin(?=.*:\/usr\/bin)/,
      "",
    ),
  );
});

test("state, passphrase and authorities are the lab's; no secret is a value", () => {
  assert.equal(environment["PULUMI_BACKEND_URL"], "file:///my repo/.lab/lab/state");
  assert.equal(environment["PULUMI_STACK"], "lab");
  assert.equal(environment["PULUMI_CONFIG_PASSPHRASE_FILE"], "/s/passphrase");
  assert.equal(environment["SSL_CERT_FILE"], "/s/ca-bundle.crt");
});

test("the exported lines give a shell exactly these values", async () => {
  const lines = shellExports(environment, shellWord);
  const { stdout } = await run("sh", ["-c", `${lines}printf %s "$PULUMI_BACKEND_URL"`]);
  assert.equal(stdout, environment["PULUMI_BACKEND_URL"]);
});
