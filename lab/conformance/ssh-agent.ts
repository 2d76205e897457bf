/** An SSH agent with one key, on a socket of its own. */

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import ssh2 from "ssh2";

export interface SshAgent {
  readonly socketPath: string;
  /** Signatures made so far. */
  readonly signed: { count: number };
  close(): void;
}

export async function startSshAgent(privateKey: string): Promise<SshAgent> {
  const key = ssh2.utils.parseKey(privateKey);
  if (key instanceof Error) {
    throw key;
  }
  const directory = mkdtempSync(path.join(tmpdir(), "berth-agent-"));
  const socketPath = path.join(directory, "socket");
  const signed = { count: 0 };
  const server = createServer((socket) => {
    const protocol = new ssh2.AgentProtocol(false);
    protocol.on("identities", (request) => {
      protocol.getIdentitiesReply(request, [key]);
    });
    protocol.on("sign", (request, _publicKey, data, { hash }) => {
      signed.count += 1;
      protocol.signReply(request, key.sign(data, hash));
    });
    socket.on("error", () => undefined);
    socket.pipe(protocol).pipe(socket);
  });
  await new Promise<void>((listening) => server.listen(socketPath, listening));
  return {
    socketPath,
    signed,
    close: () => {
      server.close();
      rmSync(directory, { recursive: true });
    },
  };
}
