/** SSH connections as the official command provider makes them. */

import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";

import ssh2, { type AnyAuthMethod, type Client, type ConnectConfig } from "ssh2";

import type { Connection, Endpoint } from "./inputs.ts";

/** Told about each failed try: what failed, how many tries so far, how many are allowed. */
export type OnRetry = (what: string, tries: number, limit: string) => void;

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5000;
const BACKOFF = 1.5;

/** A live connection; `close` ends it and the one to the proxy below it. */
export interface Dialed {
  readonly client: Client;
  close(): void;
}

export async function dial(connection: Connection, onRetry: OnRetry): Promise<Dialed> {
  const authentication = await authMethods(connection);
  if (connection.proxy === undefined) {
    const client = await withRetry("Dial", connection.dialErrorLimit, onRetry, async () =>
      handshake(connection, authentication, await dialTcp(connection)),
    );
    return { client, close: () => client.end() };
  }
  try {
    return await dialThrough(connection.proxy, connection, authentication, onRetry);
  } catch (error) {
    throw new Error(`proxy: ${messageOf(error)}`, { cause: error });
  }
}

async function dialThrough(
  proxy: Endpoint,
  target: Connection,
  authentication: AnyAuthMethod[],
  onRetry: OnRetry,
): Promise<Dialed> {
  const proxyAuthentication = await authMethods(proxy);
  const jump = await withRetry("Dial proxy", proxy.dialErrorLimit, onRetry, async () =>
    handshake(proxy, proxyAuthentication, await dialTcp(proxy)),
  );
  try {
    const client = await withRetry("Dial from proxy", target.dialErrorLimit, onRetry, async () =>
      handshake(target, authentication, await forward(jump, target)),
    );
    const close = (): void => {
      client.end();
      jump.end();
    };
    return { client, close };
  } catch (error) {
    jump.end();
    throw error;
  }
}

/** Tries until it works or the limit of errors is reached; every kind of error is tried again. */
export async function withRetry<T>(
  what: string,
  limit: number,
  onRetry: OnRetry,
  attempt: () => Promise<T>,
  sleep: (ms: number) => Promise<void> = (ms) => new Promise((done) => setTimeout(done, ms)),
): Promise<T> {
  let delay = FIRST_DELAY_MS;
  for (let failures = 1; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (limit > -1 && failures > limit) {
        throw new Error(`after ${String(failures - 1)} failed attempts: ${messageOf(error)}`, {
          cause: error,
        });
      }
      onRetry(what, failures, limit === -1 ? "inf" : String(limit));
    }
    await sleep(delay);
    delay = Math.min(delay * BACKOFF, LONGEST_DELAY_MS);
  }
}

/**
 * The ways to authenticate, in the order in which they are tried. A private key and the agent
 * are the same method to SSH, and the official provider tries each method once.
 */
async function authMethods(endpoint: Endpoint): Promise<AnyAuthMethod[]> {
  const { user: username, password, privateKey, privateKeyPassword: passphrase } = endpoint;
  const methods: AnyAuthMethod[] = [{ type: "none", username }];
  if (privateKey !== undefined) {
    const key = ssh2.utils.parseKey(privateKey, passphrase);
    if (key instanceof Error) {
      throw new Error(`ssh: cannot use the private key: ${key.message}`);
    }
    methods.push({
      type: "publickey",
      username,
      key: privateKey,
      ...(passphrase !== undefined && { passphrase }),
    });
  }
  if (password !== undefined) {
    methods.push({ type: "password", username, password });
    methods.push({
      type: "keyboard-interactive",
      username,
      prompt: (_name, _instructions, _language, prompts, finish) => {
        finish(prompts.map(() => password));
      },
    });
  }
  const agent = endpoint.agentSocketPath ?? (process.env["SSH_AUTH_SOCK"] || undefined);
  if (agent !== undefined) {
    await probeAgent(agent);
    if (privateKey === undefined) {
      methods.push({ type: "agent", username, agent });
    }
  }
  return methods;
}

// An agent that does not answer is an error at once, whatever else could authenticate.
async function probeAgent(path: string): Promise<void> {
  const socket = await opened(connect({ path }), 0, `dial unix ${path}`);
  socket.destroy();
}

function dialTcp(endpoint: Endpoint): Promise<Socket> {
  const { host, port, perDialTimeout } = endpoint;
  return opened(connect({ host, port }), perDialTimeout * 1000, `dial tcp ${host}:${String(port)}`);
}

function opened(socket: Socket, timeoutMs: number, what: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      socket.destroy();
      reject(new Error(`${what}: ${reason}`));
    };
    socket.setTimeout(timeoutMs, () => {
      fail("i/o timeout");
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      fail(error.code === "ECONNREFUSED" ? "connect: connection refused" : error.message);
    });
    socket.once("connect", () => {
      socket.setTimeout(0);
      socket.removeAllListeners("error");
      socket.removeAllListeners("timeout");
      resolve(socket);
    });
  });
}

function forward(jump: Client, { host, port }: Endpoint): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    jump.forwardOut("127.0.0.1", 0, host, port, (error, channel) => {
      if (error === undefined) {
        resolve(channel);
      } else {
        reject(error);
      }
    });
  });
}

function handshake(
  endpoint: Endpoint,
  authentication: AnyAuthMethod[],
  sock: Duplex,
): Promise<Client> {
  const pinned = endpoint.hostKey === undefined ? undefined : parseHostKey(endpoint.hostKey);
  return new Promise((resolve, reject) => {
    const client = new ssh2.Client();
    let mismatch = false;
    const config: ConnectConfig = {
      sock: sock,
      username: endpoint.user,
      // The list is typed for one method of each kind only.
      authHandler: authentication,
      // The official provider limits the TCP connection alone.
      readyTimeout: 0,
      ...(pinned !== undefined && { algorithms: { serverHostKey: [pinned.type as never] } }),
      hostVerifier: (key: Buffer) => {
        mismatch = pinned !== undefined && !key.equals(pinned.key);
        return !mismatch;
      },
    };
    const fail = (error: Error): void => {
      sock.destroy();
      reject(new Error(handshakeError(error, mismatch, authentication), { cause: error }));
    };
    // A server that hangs up in the middle is no error to the library, only an end.
    const hungUp = (): void => {
      fail(new Error("EOF"));
    };
    client.once("close", hungUp);
    client.once("ready", () => {
      client.off("close", hungUp);
      // A broken connection shows in the session; without a listener it would end the process.
      client.on("error", () => undefined);
      resolve(client);
    });
    client.once("error", fail);
    client.connect(config);
  });
}

function handshakeError(error: Error, mismatch: boolean, methods: AnyAuthMethod[]): string {
  if (mismatch) {
    return "ssh: handshake failed: ssh: host key mismatch";
  }
  if ("level" in error && error.level === "client-authentication") {
    const tried = methods.map(({ type }) => (type === "agent" ? "publickey" : type)).join(" ");
    return (
      `ssh: handshake failed: ssh: unable to authenticate, attempted methods [${tried}], ` +
      "no supported methods remain"
    );
  }
  return `ssh: handshake failed: ${error.message}`;
}

function parseHostKey(line: string): { readonly type: string; readonly key: Buffer } {
  const key = ssh2.utils.parseKey(line);
  if (key instanceof Error || key.isPrivateKey()) {
    throw new Error("failed to parse host key: it must be a line of authorized_keys form");
  }
  return { type: key.type, key: key.getPublicSSH() };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
