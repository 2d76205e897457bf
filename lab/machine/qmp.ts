import { closeSync, constants, openSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";

/** Longest that QEMU's monitor may take for an answer. */
const TIMEOUT = 10_000;

/**
 * Executes one command on a running QEMU's machine protocol socket.
 *
 * @param dir - directory of the socket; its path is reached through an open descriptor, because a
 *   socket's path may be 107 bytes long at most and a checkout's path knows no such limit.
 */
export async function qmp(dir: string, socket: string, command: string): Promise<void> {
  const descriptor = openSync(dir, constants.O_DIRECTORY | constants.O_RDONLY);
  try {
    await execute(`/proc/self/fd/${String(descriptor)}/${socket}`, command);
  } finally {
    closeSync(descriptor);
  }
}

function execute(path: string, command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = connect({ path });
    const fail = (error: Error) => {
      stream.destroy();
      reject(error);
    };
    stream.setTimeout(TIMEOUT, () => {
      fail(new Error("QEMU's monitor does not answer"));
    });
    stream.on("error", fail);
    stream.on("close", () => {
      reject(new Error("QEMU closed its monitor"));
    });
    const send = (name: string) => stream.write(`${JSON.stringify({ execute: name })}\n`);
    // The greeting, the answer to the handshake, then the answer to the command.
    let answers = 0;
    createInterface({ input: stream }).on("line", (line) => {
      const message = JSON.parse(line) as {
        QMP?: unknown;
        return?: unknown;
        error?: { desc: string };
      };
      if (message.error) {
        fail(new Error(message.error.desc));
      } else if (message.QMP !== undefined) {
        send("qmp_capabilities");
      } else if (message.return !== undefined) {
        answers += 1;
        if (answers === 1) {
          send(command);
        } else {
          resolve();
          stream.destroy();
        }
      }
    });
  });
}
