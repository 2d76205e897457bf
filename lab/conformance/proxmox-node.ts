/** A Proxmox node of files behind TLS, with a record of what is asked of it. */

import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A request that changes something; what only asks is not kept. */
export interface Change {
  readonly method: string;
  /** Below `/api2/json/`. */
  readonly path: string;
  /** Form fields; several of one name are joined by spaces. */
  readonly form: Readonly<Record<string, string>>;
}

export const NODE = "pve1";
const TOKEN = "root@pam!berth=5f3a1c9e-0d43-4f0c-9d0a-2f7d8c1b6e55";
const PVEPROXY = path.join(import.meta.dirname, "..", "node", "bin", "pveproxy");
const START_DEADLINE_MS = 20_000;
const TASK_DEADLINE_MS = 20_000;

export class ProxmoxNode {
  readonly endpoint: string;
  readonly apiToken = TOKEN;
  /** A file with the certificate to trust. */
  readonly certificate: string;
  readonly changes: Change[] = [];
  readonly #root: string;
  readonly #port: number;
  readonly #daemon: ChildProcess;
  readonly #front: Server;

  private constructor(
    root: string,
    certificate: string,
    port: number,
    daemon: ChildProcess,
    front: Server,
  ) {
    this.#root = root;
    this.#port = port;
    this.#daemon = daemon;
    this.#front = front;
    this.certificate = certificate;
    this.endpoint = `https://127.0.0.1:${String((front.address() as AddressInfo).port)}/`;
  }

  static async start(): Promise<ProxmoxNode> {
    const root = mkdtempSync(path.join(tmpdir(), "berth-node-"));
    const files = { key: path.join(root, "tls.key"), certificate: path.join(root, "tls.crt") };
    makeCertificate(files.key, files.certificate);
    mkdirSync(path.join(root, "etc/pve/lab"), { recursive: true });
    writeFileSync(path.join(root, "etc/pve/lab/token"), `${TOKEN}\n`, { mode: 0o600 });
    const portFile = path.join(root, "port");
    const daemon = spawn(
      "python3",
      [PVEPROXY, "--insecure-http", "--port", "0", "--port-file", portFile],
      {
        env: { ...process.env, PVELAB_ROOT: root, PVELAB_DRIVER: "memory" },
        stdio: ["ignore", "ignore", "ignore"],
      },
    );
    const port = await readPort(portFile);
    const key = readFileSync(files.key);
    const cert = readFileSync(files.certificate);
    const front = createServer({ key, cert });
    await once(front.listen(0, "127.0.0.1"), "listening");
    const node = new ProxmoxNode(root, files.certificate, port, daemon, front);
    front.on("request", (incoming, answer) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        const body = Buffer.concat(chunks);
        node.#record(incoming.method ?? "", incoming.url ?? "", body.toString());
        const { method, headers, url } = incoming;
        const outgoing = httpRequest(
          { host: "127.0.0.1", port, path: url, method, headers },
          (response) => {
            const { statusCode = 502, statusMessage, headers: answered } = response;
            answer.writeHead(statusCode, statusMessage, answered);
            response.pipe(answer);
          },
        );
        outgoing.on("error", () => answer.destroy());
        outgoing.end(body);
      });
    });
    return node;
  }

  /** The container's config as it is stored; undefined when there is none. */
  config(vmid: number): string | undefined {
    const file = this.#configFile(vmid);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  }

  /** Changes the config as somebody with an editor would. */
  editConfig(vmid: number, edit: (config: string) => string): void {
    const file = this.#configFile(vmid);
    writeFileSync(file, edit(readFileSync(file, "utf8")));
  }

  /** A request of somebody else: it goes past the record. */
  ask(method: string, apiPath: string, form: Record<string, string> = {}): Promise<unknown> {
    return send(this.#port, method, apiPath, form);
  }

  async status(vmid: number): Promise<string> {
    const path = `nodes/${NODE}/lxc/${String(vmid)}/status/current`;
    return ((await this.ask("GET", path)) as { readonly status: string }).status;
  }

  /** Waits for what a task brings about. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    const end = Date.now() + TASK_DEADLINE_MS;
    while (!(await condition())) {
      assert.ok(Date.now() < end, "the node's task did not end");
      await delay(50);
    }
  }

  /** The changes so far, which are forgotten. */
  takeChanges(): Change[] {
    return this.changes.splice(0);
  }

  async stop(): Promise<void> {
    this.#front.closeAllConnections();
    this.#front.close();
    this.#daemon.kill("SIGTERM");
    await once(this.#daemon, "exit");
    rmSync(this.#root, { recursive: true });
  }

  #configFile(vmid: number): string {
    return path.join(this.#root, `etc/pve/nodes/${NODE}/lxc/${String(vmid)}.conf`);
  }

  #record(method: string, url: string, body: string): void {
    if (method === "GET") {
      return;
    }
    const { pathname, searchParams } = new URL(url, "https://node");
    const form: Record<string, string> = {};
    for (const [name, value] of [...searchParams, ...new URLSearchParams(body)]) {
      form[name] = form[name] === undefined ? value : `${form[name]} ${value}`;
    }
    this.changes.push({ method, path: pathname.replace(/^\/api2\/json\//, ""), form });
  }
}

function makeCertificate(key: string, certificate: string): void {
  execFileSync(
    "openssl",
    [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
      ...["-days", "2", "-subj", "/CN=pve1", "-addext", "subjectAltName=IP:127.0.0.1"],
      ...["-keyout", key, "-out", certificate],
    ],
    { stdio: "ignore" },
  );
}

async function readPort(file: string): Promise<number> {
  const end = Date.now() + START_DEADLINE_MS;
  while (!existsSync(file)) {
    if (Date.now() > end) {
      throw new Error("the node's API daemon did not start");
    }
    await delay(50);
  }
  return Number(readFileSync(file, "utf8"));
}

async function send(
  port: number,
  method: string,
  apiPath: string,
  form: Record<string, string>,
): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${String(port)}/api2/json/${apiPath}`, {
    method,
    headers: { Authorization: `PVEAPIToken=${TOKEN}` },
    ...(method === "GET" || method === "DELETE" ? {} : { body: new URLSearchParams(form) }),
  });
  assert.ok(response.ok, `${method} ${apiPath}: ${String(response.status)} ${response.statusText}`);
  return ((await response.json()) as { readonly data: unknown }).data;
}
