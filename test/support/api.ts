/** The stand-in of the Proxmox API with containers that are files, on a free port of loopback. */

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ROOT } from "../../cli/root.ts";
import type { Identity } from "../../lab/machine/identity.ts";

const START_TIME = 20_000;

export class TestApi {
  /** Root of the node's files. */
  readonly root: string;
  readonly port: number;
  /** Requests so far, such as `POST /nodes/pve1/lxc`. */
  readonly requests: string[] = [];
  readonly #process: ChildProcess;

  private constructor(root: string, port: number, process: ChildProcess) {
    this.root = root;
    this.port = port;
    this.#process = process;
    // The access log is the record; anything else that it says is for whoever reads the test.
    process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      for (const line of text.split("\n").filter((part) => part !== "")) {
        const request = /'(\w+) \/api2\/json(\S*) HTTP/.exec(line);
        if (request) {
          this.requests.push(`${request[1] ?? ""} ${request[2] ?? ""}`);
        } else {
          console.error(line);
        }
      }
    });
  }

  static async start(identity: Identity, root: string): Promise<TestApi> {
    const lab = join(root, "etc/pve/lab");
    mkdirSync(lab, { recursive: true });
    writeFileSync(join(lab, "tls.crt"), identity.tlsCertificate);
    writeFileSync(join(lab, "tls.key"), identity.tlsKey, { mode: 0o600 });
    writeFileSync(join(lab, "token"), `${identity.token}\n`, { mode: 0o600 });
    const portFile = join(root, "port");
    const child = spawn(
      "python3",
      [join(ROOT, "lab/node/bin/pveproxy"), "--port", "0", "--port-file", portFile],
      {
        env: { ...process.env, PVELAB_ROOT: root, PVELAB_DRIVER: "memory" },
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    const deadline = Date.now() + START_TIME;
    while (!existsSync(portFile)) {
      if (child.exitCode !== null || Date.now() > deadline) {
        child.kill();
        throw new Error("the API stand-in did not start");
      }
      await sleep(20);
    }
    return new TestApi(root, Number(readFileSync(portFile, "utf8")), child);
  }

  /** A container's or virtual machine's config; undefined when it is not there. */
  conf(vmid: number, kind: "lxc" | "qemu-server" = "lxc", node = "pve1"): string | undefined {
    const path = join(this.root, `etc/pve/nodes/${node}/${kind}/${String(vmid)}.conf`);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  /** Puts a guest of somebody else's on the cluster. */
  placeForeign(vmid: number, conf: string, node = "pve1"): void {
    const directory = join(this.root, `etc/pve/nodes/${node}/lxc`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `${String(vmid)}.conf`), conf);
  }

  close(): void {
    this.#process.kill();
  }
}
