/** Requests to the Proxmox API. */

import { readFileSync } from "node:fs";
import { request, Agent } from "node:https";
import { getCACertificates, type SecureVersion } from "node:tls";

import { encodeBody, type Body } from "./body.ts";
import type { Deadline } from "./deadline.ts";

export interface ClientSettings {
  readonly endpoint: string;
  readonly apiToken: string;
  readonly insecure: boolean;
  readonly minTls: string;
}

/** An answer that is not a success, with the reason that Proxmox gives. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, reason: string) {
    super(`received an HTTP ${String(status)} response - Reason: ${reason}`);
    this.status = status;
  }

  /** Whether it says that there is no such resource. */
  get isMissing(): boolean {
    return (
      this.status === 404 ||
      (this.status === 500 &&
        /does not exist|no such resource|no such ha|No such file or directory/.test(this.message))
    );
  }
}

export type Method = "GET" | "POST" | "PUT" | "DELETE";

const GET_ATTEMPTS = 3;
/** An idle connection is dropped before the node's daemon does it. */
const IDLE_MS = 30_000;

export class Client {
  readonly #base: URL;
  readonly #token: string;
  readonly #agent: Agent;

  constructor({ endpoint, apiToken, insecure, minTls }: ClientSettings) {
    this.#base = new URL("/api2/json/", endpoint);
    this.#token = apiToken;
    this.#agent = new Agent({
      keepAlive: true,
      timeout: IDLE_MS,
      ca: trustedCertificates(),
      rejectUnauthorized: !insecure,
      minVersion: `TLSv${minTls}` as SecureVersion,
    });
  }

  /** The `data` of the answer. A GET that gets no answer at all is tried again. */
  async send(method: Method, path: string, deadline: Deadline, body?: Body): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#sendOnce(method, path, deadline, body);
      } catch (error) {
        if (error instanceof ApiError) {
          throw error;
        }
        if (method !== "GET" || attempt === GET_ATTEMPTS || deadline.isOver) {
          const reason = error instanceof Error ? error.message : String(error);
          throw new Error(
            `failed to perform HTTP ${method} request (path: ${path}) - Reason: ${reason}`,
            { cause: error },
          );
        }
      }
    }
  }

  #sendOnce(method: Method, path: string, deadline: Deadline, body?: Body): Promise<unknown> {
    const form = body === undefined ? undefined : encodeBody(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        new URL(path, this.#base),
        {
          method,
          agent: this.#agent,
          signal: deadline.signal,
          headers: {
            Accept: "application/json",
            Authorization: `PVEAPIToken=${this.#token}`,
            ...(form !== undefined && {
              "Content-Type": "application/x-www-form-urlencoded",
              "Content-Length": Buffer.byteLength(form),
            }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            const { statusCode: status = 0, statusMessage = "" } = response;
            if (status < 200 || status >= 300) {
              reject(new ApiError(status, reasonOf(statusMessage, text)));
              return;
            }
            try {
              resolve((JSON.parse(text) as { readonly data?: unknown }).data);
            } catch (error) {
              reject(new Error("the answer is not JSON", { cause: error }));
            }
          });
        },
      );
      sent.on("error", reject);
      sent.end(form);
    });
  }
}

/** The status line's reason with what the body adds to it. */
export function reasonOf(statusMessage: string, body: string): string {
  let parsed: { readonly errors?: Record<string, string>; readonly message?: string };
  try {
    parsed = JSON.parse(body) as typeof parsed;
  } catch {
    return statusMessage;
  }
  const errors = Object.entries(parsed.errors ?? {}).map(
    ([name, reason]) => `${name}: ${reason.trimEnd()}`,
  );
  const lines = (parsed.message ?? "")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith(statusMessage));
  const more = [...errors, ...lines].join(" - ");
  return more === "" ? statusMessage : `${statusMessage} (${more})`;
}

// As the official provider does, this trusts the file that SSL_CERT_FILE names.
function trustedCertificates(): string[] {
  const file = process.env["SSL_CERT_FILE"];
  const named = file === undefined || file === "" ? [] : [readFileSync(file, "utf8")];
  return [...getCACertificates("default"), ...getCACertificates("system"), ...named];
}
