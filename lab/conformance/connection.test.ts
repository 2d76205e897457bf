/** How `command:remote:Command` connects, on whichever plugin is under test. */

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";

import * as command from "@pulumi/command";
import type { automation } from "@pulumi/pulumi";

import { startSshAgent } from "./ssh-agent.ts";
import { startSshServer, type SshServer } from "./ssh-server.ts";
import { OperationError, TestStack } from "./stack.ts";

type Connection = command.types.input.remote.ConnectionArgs;

describe("a connection", () => {
  let server: SshServer;
  let other: SshServer;
  let stack: TestStack;

  before(async () => {
    server = await startSshServer({ password: "open sesame" });
    other = await startSshServer();
  });

  after(async () => {
    await server.close();
    await other.close();
  });

  beforeEach(async () => {
    stack = await TestStack.create();
  });

  afterEach(() => {
    stack.remove();
    server.forget();
    other.forget();
  });

  function endpoint({ port, privateKey, hostKey }: SshServer): Connection {
    return { host: "127.0.0.1", port, privateKey, hostKey, dialErrorLimit: 0 };
  }

  function running(connection: Connection): automation.PulumiFn {
    return () => {
      const args = { connection, create: "echo through", addPreviousOutputInEnv: false };
      return Promise.resolve({ stdout: new command.remote.Command("c", args).stdout });
    };
  }

  async function output(connection: Connection): Promise<unknown> {
    const { steps } = await stack.up(running(connection));
    return steps[0]?.outputs["stdout"];
  }

  async function failure(connection: Connection): Promise<string> {
    try {
      await stack.up(running(connection));
    } catch (error) {
      assert.ok(error instanceof OperationError, String(error));
      return error.message;
    }
    return assert.fail("the connection should fail");
  }

  test("a wrong host key is refused, with as many tries as the limit says", async () => {
    const message = await failure({
      ...endpoint(server),
      hostKey: other.hostKey,
      dialErrorLimit: 2,
    });
    assert.match(message, /after 2 failed attempts: .*host key mismatch/);
    assert.equal(server.connections.total, 3);
    assert.deepEqual(server.ran, []);
  });

  test("a host key of a kind that the server lacks is refused", async () => {
    const ecdsa = await startSshServer({ hostKeyType: "ecdsa" });
    try {
      const message = await failure({ ...endpoint(server), hostKey: ecdsa.hostKey });
      assert.match(message, /handshake failed/);
      assert.deepEqual(server.ran, []);
    } finally {
      await ecdsa.close();
    }
  });

  test("without a host key any host is trusted", async () => {
    const { hostKey, ...unpinned } = endpoint(server);
    assert.ok(hostKey);
    assert.equal(await output(unpinned), "through");
  });

  test("a comment after the host key does no harm", async () => {
    const { hostKey } = server;
    assert.equal(await output({ ...endpoint(server), hostKey: `${hostKey} root@pve1` }), "through");
  });

  test("a wrong key fails and does not get into the error", async () => {
    const { privateKey } = other;
    const message = await failure({ ...endpoint(server), privateKey });
    assert.match(message, /unable to authenticate, attempted methods \[none publickey\]/);
    assert.doesNotMatch(message, /OPENSSH PRIVATE KEY/);
  });

  test("a key that cannot be read fails and does not get into the error", async () => {
    const message = await failure({ ...endpoint(server), privateKey: "not-really-a-key" });
    assert.match(message, /ssh: /);
    assert.doesNotMatch(message, /not-really-a-key/);
  });

  test("the password comes after the key", async () => {
    const { privateKey } = other;
    assert.equal(
      await output({ ...endpoint(server), privateKey, password: "open sesame" }),
      "through",
    );
    assert.deepEqual(
      server.ran.map(({ method }) => method),
      ["password"],
    );
  });

  test("an agent is asked when there is neither key nor password", async () => {
    const agent = await startSshAgent(server.privateKey);
    try {
      const { privateKey, ...rest } = endpoint(server);
      assert.ok(privateKey);
      assert.equal(await output({ ...rest, agentSocketPath: agent.socketPath }), "through");
      assert.equal(agent.signed.count, 1);
    } finally {
      agent.close();
    }
  });

  test("an agent that does not answer is an error at once", async () => {
    const message = await failure({ ...endpoint(server), agentSocketPath: "/nowhere/agent" });
    assert.match(message, /dial unix \/nowhere\/agent/);
    assert.equal(server.connections.total, 0);
  });

  test("a connection that is dropped is tried again", async () => {
    server.dropNext(2);
    assert.equal(await output({ ...endpoint(server), dialErrorLimit: 3 }), "through");
    assert.equal(server.connections.total, 3);
  });

  test("a port where nobody listens is an error after the last try", async () => {
    const closed = await startSshServer();
    await closed.close();
    const message = await failure({ ...endpoint(server), port: closed.port, dialErrorLimit: 1 });
    assert.match(message, /after 1 failed attempts: dial tcp .*connection refused/);
  });

  test("a proxy is gone through, each with its own key", async () => {
    assert.equal(await output({ ...endpoint(server), proxy: endpoint(other) }), "through");
    assert.equal(other.connections.total, 1);
    assert.deepEqual(other.ran, []);
    assert.equal(server.ran.length, 1);
  });

  test("a proxy with a wrong host key is refused", async () => {
    const proxy = { ...endpoint(other), hostKey: server.hostKey };
    const message = await failure({ ...endpoint(server), proxy });
    assert.match(message, /proxy: .*host key mismatch/);
    assert.equal(server.connections.total, 0);
  });
});
