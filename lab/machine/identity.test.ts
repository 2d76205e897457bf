import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:https";
import { test } from "node:test";

import { LabPaths } from "../paths.ts";
import { mustRun } from "../../cli/process.ts";
import { ensureIdentity, readIdentity } from "./identity.ts";
import { temporaryDirectory } from "../../test/support/temporary.ts";

const newPaths = () => new LabPaths("lab", temporaryDirectory("identity"));

test("keys are made once, are private, and the second run gives the same", async () => {
  const paths = newPaths();
  const first = await ensureIdentity(paths);
  assert.deepEqual(await ensureIdentity(paths), first);
  assert.deepEqual(readIdentity(paths), first);
  assert.match(first.token, /^root@pam!berth=[0-9a-f-]{36}$/);
  assert.equal(statSync(paths.dir).mode & 0o777, 0o700);
  for (const secret of ["id_ed25519", "host_key", "tls.key", "token", "passphrase"]) {
    assert.equal(statSync(paths.at(secret)).mode & 0o077, 0, secret);
  }
  assert.equal(existsSync(paths.at("ca.key")), false);
});

test("the ssh key pairs belong together", async () => {
  const paths = newPaths();
  const { hostPublicKey } = await ensureIdentity(paths);
  const derived = await mustRun("ssh-keygen", ["-y", "-f", paths.at("host_key")]);
  assert.equal(derived.trim().split(" ")[1], hostPublicKey.split(" ")[1]);
});

test("a half-made certificate is made again", async () => {
  const paths = newPaths();
  await ensureIdentity(paths);
  writeFileSync(paths.at("tls.crt.new"), "half");
  assert.match(readFileSync(paths.at("tls.crt"), "utf8"), /BEGIN CERTIFICATE/);
});

test("the node's certificate is trusted with the lab's authority for 127.0.0.1, and not without", async () => {
  const identity = await ensureIdentity(newPaths());
  const server = createServer(
    { cert: identity.tlsCertificate, key: identity.tlsKey },
    (_request, response) => response.end("ok"),
  );
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const get = (ca: Buffer | undefined) =>
    new Promise<number | undefined>((resolve, reject) => {
      request({ host: "127.0.0.1", port, agent: false, ...(ca ? { ca } : {}) }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
  try {
    assert.equal(await get(readFileSync(identity.caFile)), 200);
    assert.equal(await get(readFileSync(identity.caBundleFile)), 200);
    await assert.rejects(get(undefined), /certificate|self-signed|issuer/i);
  } finally {
    server.close();
  }
});
