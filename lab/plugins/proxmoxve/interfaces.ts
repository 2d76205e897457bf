/** The addresses of a running container, as far as it tells them. */

import { ApiError } from "./client.ts";
import type { Container } from "./container.ts";
import { Deadline } from "./deadline.ts";

/** An interface as Proxmox reports it. */
export interface ReportedInterface {
  readonly name: string;
  readonly "ip-addresses"?: readonly {
    readonly "ip-address": string;
    readonly "ip-address-type": string;
  }[];
}

const WAIT_SECONDS = 10;
const POLL_MS = 1000;

/** Waits for a while until there are addresses; a guest without any is no failure. */
export async function waitForAddresses(
  ask: (deadline: Deadline) => Promise<readonly ReportedInterface[]>,
  waitForIp: Container["waitForIp"],
): Promise<readonly ReportedInterface[]> {
  const deadline = new Deadline(WAIT_SECONDS);
  try {
    return await deadline.poll(
      async () => {
        const found = await reported(ask, deadline);
        return isEnough(found, waitForIp) ? found : undefined;
      },
      "no addresses",
      POLL_MS,
    );
  } catch {
    return [];
  }
}

async function reported(
  ask: (deadline: Deadline) => Promise<readonly ReportedInterface[]>,
  deadline: Deadline,
): Promise<readonly ReportedInterface[]> {
  try {
    return await ask(deadline);
  } catch (error) {
    // Proxmox answers so while the container is not far enough.
    if (error instanceof ApiError && error.status === 400) {
      return [];
    }
    throw error;
  }
}

/** Whether there is an address of every kind that is waited for, or of any. */
export function isEnough(
  interfaces: readonly ReportedInterface[],
  waitForIp: Container["waitForIp"],
): boolean {
  const types = new Set(
    interfaces
      .filter(({ name }) => name !== "lo")
      .flatMap(({ "ip-addresses": addresses = [] }) => addresses)
      .filter(({ "ip-address": address }) => isGlobal(address))
      .map(({ "ip-address-type": type }) => type),
  );
  const { ipv4 = false, ipv6 = false } = waitForIp ?? {};
  return ipv4 || ipv6
    ? (!ipv4 || types.has("inet")) && (!ipv6 || types.has("inet6"))
    : types.size > 0;
}

function isGlobal(address: string): boolean {
  return !/^(127\.|169\.254\.|fe80:|::1$)/i.test(address);
}
