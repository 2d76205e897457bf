/** An SSH server on loopback whose commands are answered by the test or by `sh`. */

import { spawn } from "node:child_process";
import { connect, type AddressInfo } from "node:net";

import ssh2, { type Connection, type ServerChannel } from "ssh2";

export interface Ran {
  readonly command: string;
  readonly stdin: string;
  readonly environment: Readonly<Record<string, string>>;
  /** How the client authenticated. */
  readonly method: string;
}

export interface SshServerOptions {
  /** Names of environment variables that the server takes, as sshd's AcceptEnv. */
  readonly acceptEnv?: readonly string[];
  readonly password?: string;
  readonly hostKeyType?: "ed25519" | "ecdsa";
}

export interface SshServer {
  readonly port: number;
  /** A line for `hostKey`. */
  readonly hostKey: string;
  /** A private key that the server accepts. */
  readonly privateKey: string;
  readonly ran: readonly Ran[];
  /** Connections accepted so far, and of them still open. */
  readonly connections: { readonly total: number; readonly open: number };
  /** Ends the next connections before they are served. */
  dropNext(count: number): void;
  /** Empties the record. */
  forget(): void;
  close(): Promise<void>;
}

export async function startSshServer(options: SshServerOptions = {}): Promise<SshServer> {
  const host =
    options.hostKeyType === "ecdsa"
      ? ssh2.utils.generateKeyPairSync("ecdsa", { bits: 256 })
      : ssh2.utils.generateKeyPairSync("ed25519");
  const user = ssh2.utils.generateKeyPairSync("ed25519");
  const ran: Ran[] = [];
  const connections = { total: 0, open: 0 };
  let toDrop = 0;

  const server = new ssh2.Server({ hostKeys: [host.private] }, (connection) => {
    connections.total += 1;
    connections.open += 1;
    connection.on("close", () => (connections.open -= 1));
    connection.on("error", () => undefined);
    if (toDrop > 0) {
      toDrop -= 1;
      connection.end();
      return;
    }
    serveConnection(connection, user.public, options, ran);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    port: (server.address() as AddressInfo).port,
    hostKey: host.public,
    privateKey: user.private,
    ran,
    connections,
    dropNext: (count) => {
      toDrop = count;
    },
    forget: () => {
      ran.length = 0;
      connections.total = 0;
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => {
          closed();
        });
      }),
  };
}

function serveConnection(
  connection: Connection,
  publicKey: string,
  options: SshServerOptions,
  ran: Ran[],
): void {
  const allowed = ssh2.utils.parseKey(publicKey);
  if (allowed instanceof Error) {
    throw allowed;
  }
  let method = "";
  connection.on("authentication", (context) => {
    const accepted =
      context.method === "publickey"
        ? context.key.data.equals(allowed.getPublicSSH())
        : context.method === "password" && context.password === options.password;
    if (accepted) {
      method = context.method;
      context.accept();
    } else {
      context.reject(["publickey", "password"]);
    }
  });
  connection.on("session", (accept) => {
    const session = accept();
    const environment: Record<string, string> = {};
    session.on("env", (acceptEnv, reject, { key, val }) => {
      if (options.acceptEnv?.includes(key) === true) {
        environment[key] = val;
        acceptEnv();
      } else {
        reject();
      }
    });
    session.on("exec", (acceptExec, _reject, { command }) => {
      runShell(acceptExec(), command, environment, method, ran);
    });
  });
  connection.on("tcpip", (accept, _reject, { destIP, destPort }) => {
    const channel = accept();
    const socket = connect({ host: destIP, port: destPort });
    socket.on("error", () => channel.end());
    channel.pipe(socket).pipe(channel);
  });
}

function runShell(
  channel: ServerChannel,
  command: string,
  environment: Record<string, string>,
  method: string,
  ran: Ran[],
): void {
  const input: Buffer[] = [];
  const child = spawn("/bin/sh", ["-c", command], {
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => undefined);
  channel.on("data", (data: Buffer) => {
    input.push(data);
    child.stdin.write(data);
  });
  channel.on("end", () => child.stdin.end());
  child.stdout.on("data", (data: Buffer) => channel.write(data));
  child.stderr.on("data", (data: Buffer) => channel.stderr.write(data));
  child.on("close", (code, signal) => {
    ran.push({ command, stdin: Buffer.concat(input).toString(), environment, method });
    if (signal === null) {
      channel.exit(code ?? 0);
    } else {
      channel.exit(signal.slice("SIG".length), false, "");
    }
    channel.end();
  });
}
