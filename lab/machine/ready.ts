import { readFileSync } from "node:fs";
import { request } from "node:https";

import { UserError } from "../../cli/errors.ts";
import { pause } from "../interrupt.ts";
import type { LabPaths } from "../paths.ts";
import type { ProgramResult } from "../../cli/process.ts";
import { runningPid } from "./machine.ts";
import { FILES, lastLines } from "./qemu.ts";

/** Waiting for a machine that boots: with a deadline, and with its last words when it fails. */

const BOOT_TIME = 600_000;

/** Waits until a command runs over ssh. */
export async function waitForSsh(
  paths: LabPaths,
  attempt: () => Promise<ProgramResult>,
  time = BOOT_TIME,
): Promise<void> {
  const deadline = Date.now() + time;
  let last = "";
  while (Date.now() < deadline) {
    if (runningPid(paths) === undefined) {
      throw bootError(paths, "the lab's machine has ended while it was booting");
    }
    const { code, stderr } = await attempt();
    if (code === 0) {
      return;
    }
    last = stderr.trim().split("\n").at(-1) ?? "";
    await pause(500);
  }
  throw bootError(paths, `the lab's machine did not answer by ssh in time (${last})`);
}

/** Waits until an agent's machine takes logins: after a boot of the node it comes up by itself. */
export async function waitForLogin(
  agent: string,
  attempt: () => Promise<ProgramResult>,
  time = BOOT_TIME,
): Promise<void> {
  const deadline = Date.now() + time;
  for (;;) {
    const { code, stderr } = await attempt();
    if (code === 0) {
      return;
    }
    if (Date.now() > deadline) {
      const last = stderr.trim().split("\n").at(-1) ?? "";
      throw new UserError(`${agent}'s machine did not answer by ssh in time (${last})`, {
        hint: "./berth lab ssh -- pct list",
      });
    }
    await pause(1000);
  }
}

/** Waits until the node's API answers over TLS, with a certificate of the lab's own authority. */
export async function waitForApi(
  paths: LabPaths,
  port: number,
  caFile: string,
  time = BOOT_TIME,
): Promise<void> {
  const ca = readFileSync(caFile);
  const deadline = Date.now() + time;
  let last = "";
  while (Date.now() < deadline) {
    try {
      await answer(port, ca);
      return;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
      await pause(500);
    }
  }
  throw new UserError(`the node's API did not answer in time (${last})`, {
    hint: `./berth lab ssh --name ${paths.name} -- journalctl -u 'lab-*' -n 50`,
  });
}

/** Any answer will do: one without a token is a refusal, and shows that the server is there. */
function answer(port: number, ca: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = request(
      { host: "127.0.0.1", port, path: "/api2/json/version", ca, timeout: 20_000, agent: false },
      (response) => {
        response.resume();
        resolve();
      },
    );
    call.on("timeout", () => call.destroy(new Error("no answer in 20 s")));
    call.on("error", reject);
    call.end();
  });
}

function bootError(paths: LabPaths, message: string): UserError {
  const lines = lastLines(paths.at(FILES.serial), 15).map((line) => `\n    ${line}`);
  return new UserError(`${message}; its console says last:${lines.join("")}`, {
    hint: `the whole console: ${paths.at(FILES.serial)}`,
  });
}
