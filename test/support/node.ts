/** A node for the engine's tests: sshd on loopback that answers for our programs and records. */

import { existsSync, globSync, readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import ssh2, { type Connection, type ServerChannel } from "ssh2";

import type { Identity } from "../../lab/machine/identity.ts";

export interface Call {
  /** `install`, `prepare`, `apply` or `delete`. */
  readonly program: string;
  readonly agent: string;
  readonly document: string;
  /** Whether the agent's container was there at that time. */
  readonly hasContainer: boolean;
}

interface Document {
  readonly agent?: string;
  readonly stack: string;
  readonly vmid?: number;
  readonly dataset?: string;
  readonly node?: string;
  readonly nodeHash?: string;
  readonly guestHash?: string;
  readonly limits?: Readonly<Record<string, number>>;
}

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Host key that every guest reports. */
const GUEST_KEY =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKcQpIfBcqvRzvNHbvQ5ZxSdBXe6uFh2Y7kGjYPdKQ1p";

export class TestNode {
  readonly calls: Call[] = [];
  /** Connections accepted so far. */
  connections = 0;
  /** Root of the node's files, as the API stand-in keeps them. */
  readonly #root: string;
  readonly #server: InstanceType<typeof ssh2.Server>;

  private constructor(identity: Identity, root: string) {
    this.#root = root;
    const allowed = ssh2.utils.parseKey(identity.sshPublicKey);
    if (allowed instanceof Error) {
      throw allowed;
    }
    this.#server = new ssh2.Server({ hostKeys: [identity.hostKey] }, (connection) => {
      this.connections += 1;
      this.#serve(connection, allowed.getPublicSSH());
    });
  }

  static async start(identity: Identity, root: string): Promise<TestNode> {
    const node = new TestNode(identity, root);
    await new Promise<void>((resolve) => {
      node.#server.listen(0, "127.0.0.1", resolve);
    });
    return node;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }

  #serve(connection: Connection, key: Buffer): void {
    connection.on("error", () => undefined);
    connection.on("authentication", (context) => {
      if (context.method === "publickey" && context.key.data.equals(key)) {
        context.accept();
      } else {
        context.reject(["publickey"]);
      }
    });
    connection.on("session", (accept) => {
      accept().on("exec", (acceptExec, _reject, { command }) => {
        this.#run(acceptExec(), command);
      });
    });
  }

  #run(channel: ServerChannel, command: string): void {
    const input: Buffer[] = [];
    channel.on("data", (data: Buffer) => input.push(data));
    channel.on("end", () => {
      const answer = this.#answer(command, Buffer.concat(input).toString());
      channel.stderr.write(answer.stderr);
      channel.write(answer.stdout);
      channel.exit(answer.code);
      channel.end();
    });
  }

  #answer(command: string, stdin: string): Answer {
    const document = JSON.parse(stdin) as Document;
    const program = command.startsWith("python3 -c ")
      ? "install"
      : command.endsWith("/apply.py --delete")
        ? "delete"
        : (/\/(prepare|apply)\.py( |$)/.exec(command)?.[1] ?? "unknown");
    this.calls.push({
      program,
      agent: document.agent ?? "",
      document: stdin,
      hasContainer: existsSync(join(this.#root, `etc/pve/lxc/${String(document.vmid)}.conf`)),
    });
    const ok = (result: unknown) => ({
      code: 0,
      stdout: `${JSON.stringify(result)}\n`,
      stderr: "",
    });
    switch (program) {
      case "install":
        return ok({
          node: document.node,
          nodeHash: document.nodeHash,
          guestHash: document.guestHash,
        });
      case "prepare":
        return this.#prepare(document, ok);
      case "apply": {
        const { memoryMax, memoryHigh, swapMax, pidsMax, nofile } = document.limits ?? {};
        const limits = { memoryMax, memoryHigh, swapMax, pidsMax, nofile };
        return ok({ hostKeys: [GUEST_KEY], limits, pending: [] });
      }
      case "delete":
        return ok({});
      default:
        return { code: 127, stdout: "", stderr: `no such program: ${command}\n` };
    }
  }

  /** The real one's first duty: a VMID that is not ours stops everything. */
  #prepare(document: Document, ok: (result: unknown) => Answer): Answer {
    const found = globSync(`etc/pve/nodes/*/{lxc,qemu-server}/${String(document.vmid)}.conf`, {
      cwd: this.#root,
    }).map((path) => readFileSync(join(this.#root, path), "utf8"));
    if (
      found.some((conf) => !new RegExp(`^tags: .*\\bberth-${document.stack}\\b`, "m").test(conf))
    ) {
      return {
        code: 1,
        stdout: "",
        stderr: `VMID ${String(document.vmid)} is taken by a container that is not ours\n`,
      };
    }
    return ok({ dataset: document.dataset, home: `/${document.dataset ?? ""}/home` });
  }
}
