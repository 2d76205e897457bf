/** One container on a node, through the Proxmox API. */

import type { Properties } from "../plugin/values.ts";
import { createBody, updateBody, type Body } from "./body.ts";
import { ApiError, type Client, type Method } from "./client.ts";
import { asContainer, type Container } from "./container.ts";
import type { Deadline } from "./deadline.ts";
import { gigabytes } from "./options.ts";
import { waitForAddresses, type ReportedInterface } from "./interfaces.ts";
import { stateFrom } from "./state.ts";
import { isTransient, repeat, runTask, type Retry } from "./tasks.ts";

const REBOOT_SECONDS = 300;

/** Properties whose change needs a reboot; it ends every process in the guest. */
const REBOOTS = [
  ...["console", "devicePassthroughs", "environmentVariables", "memory", "mountPoints"],
  ...["networkInterfaces", "operatingSystem", "initialization.dns", "initialization.entrypoint"],
  ...["initialization.hostname", "initialization.ipConfigs", "disk.mountOptions"],
];

interface Status {
  readonly status: string;
  readonly lock?: string;
}

export class Guest {
  readonly #client: Client;
  readonly #node: string;
  readonly #vmid: number;

  constructor(client: Client, node: string, vmid: number) {
    this.#client = client;
    this.#node = node;
    this.#vmid = vmid;
  }

  static async nextId(client: Client, deadline: Deadline): Promise<number> {
    return Number(await client.send("GET", "cluster/nextid", deadline));
  }

  /**
   * Like the official provider, this repeats the request on a server error and then takes
   * "already exists" for its own work: a container that was there before is adopted in silence.
   */
  async create(container: Container, deadline: Deadline): Promise<void> {
    const body = createBody(container, this.#vmid, await this.#hostManagedKnown(deadline));
    await runTask(this.#client, this.#node, "POST", `nodes/${this.#node}/lxc`, deadline, {
      body,
      retry: { when: isTransient, done: (error) => /already exists/.test(String(error)) },
    });
  }

  async start(deadline: Deadline): Promise<void> {
    if ((await this.#status(deadline)).status === "running") {
      return;
    }
    try {
      await this.#task("POST", "status/start", deadline, undefined, {
        when: (error) => /got no worker upid/.test(String(error)),
      });
    } catch (error) {
      // A container that was created to be started is started by Proxmox too, perhaps first.
      if (!(error instanceof ApiError) || !error.message.includes("already running")) {
        throw error;
      }
    }
    await this.#waitForStatus("running", deadline);
  }

  async shutdown(timeoutSeconds: number, deadline: Deadline): Promise<void> {
    const timeout = Math.max(1, timeoutSeconds - 5);
    await this.#task("POST", "status/shutdown", deadline, { forceStop: 1, timeout });
    await this.#waitForStatus("stopped", deadline);
  }

  async update(
    container: Container,
    changed: (property: string) => boolean,
    deadline: Deadline,
  ): Promise<void> {
    const rootfs = changed("disk") ? await this.#resize(container, deadline) : undefined;
    const networks = changed("initialization.ipConfigs") || changed("networkInterfaces");
    const hostManaged = networks && (await this.#hostManagedKnown(deadline));
    const body = updateBody(container, changed, rootfs, hostManaged);
    if (Object.keys(body).length > 0) {
      await repeat({ when: (error) => /got timeout/.test(String(error)) }, deadline, () =>
        this.#send("PUT", "config", deadline, body),
      );
    }
    await this.waitForUnlock(deadline);
    if (changed("started") && !container.template) {
      if (container.started) {
        await this.start(deadline);
      } else {
        await this.shutdown(container.timeoutDelete, deadline);
      }
    }
    if (container.started && !container.template && REBOOTS.some(changed)) {
      await this.#task("POST", "status/reboot", deadline, { timeout: REBOOT_SECONDS });
    }
  }

  async delete(timeoutSeconds: number, deadline: Deadline): Promise<void> {
    if ((await this.#status(deadline)).status !== "stopped") {
      await this.shutdown(timeoutSeconds, deadline);
    }
    try {
      await this.#task("DELETE", "", deadline, undefined, {
        when: (error) => isTransient(error) && !isMissing(error),
      });
    } catch (error) {
      if (!isMissing(error)) {
        throw error;
      }
    }
    const remains = await this.#status(deadline).then(
      () => true,
      () => false,
    );
    if (remains) {
      throw new Error(`failed to delete container "${String(this.#vmid)}"`);
    }
  }

  async read(prior: Properties, deadline: Deadline): Promise<Properties> {
    const config = (await this.#send("GET", "config", deadline)) as Properties;
    const running = (await this.#status(deadline)).status === "running";
    const networks = Object.keys(config).some((name) => /^net\d+$/.test(name));
    const interfaces = running && networks ? await this.#interfaces(asContainer(prior)) : [];
    return stateFrom(prior, { vmid: this.#vmid, config, running, interfaces });
  }

  async readIfThere(prior: Properties, deadline: Deadline): Promise<Properties | undefined> {
    try {
      return await this.read(prior, deadline);
    } catch (error) {
      if (isMissing(error)) {
        return undefined;
      }
      throw error;
    }
  }

  /** Waits until no operation holds the container; an unreadable status is asked for again. */
  async waitForUnlock(deadline: Deadline): Promise<void> {
    await deadline.poll(
      async () => {
        try {
          const { lock = "" } = await this.#status(deadline);
          return lock === "" ? true : undefined;
        } catch {
          return undefined;
        }
      },
      `timeout while waiting for container ${String(this.#vmid)} configuration to become unlocked`,
    );
  }

  async #resize(container: Container, deadline: Deadline): Promise<{ readonly volume: string }> {
    const config = (await this.#send("GET", "config", deadline)) as { readonly rootfs?: string };
    const [volume = "", ...options] = (config.rootfs ?? "").split(",");
    const size = options.find((option) => option.startsWith("size="))?.slice("size=".length) ?? "0";
    const asked = container.disk.size;
    if (gigabytes(size) > asked) {
      throw new Error(
        `new disk size (${String(asked)}G) has to be greater than the current disk (${size})`,
      );
    }
    if (gigabytes(size) !== asked) {
      const body = { disk: "rootfs", size: `${String(asked)}G` };
      await this.#task("PUT", "resize", deadline, body, { when: isTransient });
    }
    return { volume: volume.replace(/^volume=/, "") };
  }

  #interfaces({ waitForIp }: Container): Promise<readonly ReportedInterface[]> {
    return waitForAddresses(
      async (deadline) => (await this.#send("GET", "interfaces", deadline)) as ReportedInterface[],
      waitForIp,
    );
  }

  async #hostManagedKnown(deadline: Deadline): Promise<boolean> {
    try {
      const { version } = (await this.#client.send("GET", "version", deadline)) as {
        readonly version: string;
      };
      const [major = 0, minor = 0] = version.split(".").map(Number);
      return major > 9 || (major === 9 && minor >= 1);
    } catch {
      return false;
    }
  }

  async #status(deadline: Deadline): Promise<Status> {
    return (await this.#send("GET", "status/current", deadline)) as Status;
  }

  async #waitForStatus(wanted: string, deadline: Deadline): Promise<void> {
    await deadline.poll(
      async () => ((await this.#status(deadline)).status === wanted ? true : undefined),
      `timeout while waiting for container ${String(this.#vmid)} to enter the status "${wanted}"`,
    );
  }

  #send(method: Method, path: string, deadline: Deadline, body?: Body): Promise<unknown> {
    return this.#client.send(method, this.#path(path), deadline, body);
  }

  #task(
    method: Method,
    path: string,
    deadline: Deadline,
    body?: Body,
    retry?: Retry,
  ): Promise<void> {
    return runTask(this.#client, this.#node, method, this.#path(path), deadline, {
      ...(body !== undefined && { body }),
      ...(retry !== undefined && { retry }),
    });
  }

  #path(path: string): string {
    return `nodes/${this.#node}/lxc/${String(this.#vmid)}${path === "" ? "" : `/${path}`}`;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.isMissing;
}
