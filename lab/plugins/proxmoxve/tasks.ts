/** Proxmox's tasks: started by a request, watched until they end. */

import { ApiError, type Client, type Method } from "./client.ts";
import type { Body } from "./body.ts";
import type { Deadline } from "./deadline.ts";

/** How often a request for a task is repeated, and when. */
export interface Retry {
  readonly when: (error: unknown) => boolean;
  /** On a repeated request, this error means that the first one worked. */
  readonly done?: (error: unknown) => boolean;
}

const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 1000;

export const NEVER: Retry = { when: () => false };

/** Server errors and Proxmox's own time limits pass; the request is worth repeating. */
export function isTransient(error: unknown): boolean {
  return error instanceof ApiError
    ? error.status >= 500
    : /got no worker upid|got timeout/.test(messageOf(error));
}

/** Starts a task and waits for its end. No task means that there is nothing to wait for. */
export async function runTask(
  client: Client,
  node: string,
  method: Method,
  path: string,
  deadline: Deadline,
  { body, retry = NEVER }: { readonly body?: Body; readonly retry?: Retry } = {},
): Promise<void> {
  const upid = await repeat(retry, deadline, () => client.send(method, path, deadline, body));
  if (typeof upid === "string") {
    await waitForTask(client, node, upid, deadline);
  }
}

/** Sends a request up to three times, with a pause of one second and then of two. */
export async function repeat<T>(
  { when, done = () => false }: Retry,
  deadline: Pick<Deadline, "pause" | "isOver">,
  send: () => Promise<T>,
): Promise<T | undefined> {
  const failures: unknown[] = [];
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (failures.length > 0 && done(error)) {
        return undefined;
      }
      failures.push(error);
      if (!when(error) || failures.length === ATTEMPTS || deadline.isOver) {
        throw failures.length === 1 ? error : allOf(failures);
      }
    }
    await deadline.pause(FIRST_PAUSE_MS * 2 ** (failures.length - 1));
  }
}

function allOf(failures: readonly unknown[]): Error {
  const lines = failures.map((failure, index) => `#${String(index + 1)}: ${messageOf(failure)}`);
  return new Error(`All attempts fail:\n${lines.join("\n")}`, { cause: failures.at(-1) });
}

interface TaskStatus {
  readonly status: string;
  readonly exitstatus?: string;
}

async function waitForTask(
  client: Client,
  node: string,
  upid: string,
  deadline: Deadline,
): Promise<void> {
  const path = `nodes/${node}/tasks/${encodeURIComponent(upid)}`;
  const { exitstatus = "" } = await deadline.poll(async () => {
    try {
      const status = (await client.send("GET", `${path}/status`, deadline)) as TaskStatus;
      return status.status === "running" ? undefined : status;
    } catch (error) {
      // A task may not be listed yet right after its start.
      if (error instanceof ApiError && error.status === 400) {
        return undefined;
      }
      throw error;
    }
  }, `timeout while waiting for task "${upid}" to complete`);
  if (exitstatus === "OK" || /^WARNINGS: (?!.*ERROR)/.test(exitstatus)) {
    return;
  }
  const log = await taskLog(client, path, deadline);
  const shown = log.length === 0 ? "" : `\ntask log:\n  ${log.join("\n  ")}`;
  throw new Error(`task "${upid}" failed to complete with exit code: ${exitstatus}${shown}`);
}

async function taskLog(client: Client, path: string, deadline: Deadline): Promise<string[]> {
  try {
    const lines = (await client.send("GET", `${path}/log`, deadline)) as { readonly t: string }[];
    return lines.map(({ t }) => t).filter((line) => !line.includes("WARN:"));
  } catch {
    // The exit code alone has to do.
    return [];
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
