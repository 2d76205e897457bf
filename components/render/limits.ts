import type { AgentConfig } from "../config/schema.ts";

/** The limits of one agent: the container's, and the inner fence of its sessions. */

/** Part of pidsMax that sessions leave to systemd, sshd and the rescuer, and its least. */
const TASKS_RESERVE_PART = 8;
const TASKS_RESERVE = 128;

/** What the node enforces on the container's cgroup and its first process. Bytes and counts. */
export interface ContainerLimits {
  readonly memoryMax: number;
  readonly memoryHigh: number;
  readonly swapMax: number;
  readonly pidsMax: number;
  readonly nofile: number;
}

/** What the guest's user manager enforces on all sessions together. Bytes and counts. */
export interface SliceLimits {
  readonly memoryHigh: number;
  readonly tasksMax: number;
}

type Limited = Pick<AgentConfig, "memory" | "pidsMax" | "nofile">;

export function containerLimits(agent: Limited): ContainerLimits {
  return {
    memoryMax: agent.memory.max,
    memoryHigh: agent.memory.high,
    swapMax: agent.memory.swap,
    pidsMax: agent.pidsMax,
    nofile: agent.nofile,
  };
}

/**
 * The inner fence lies under the outer one, because the outer memory.high throttles sshd and the
 * rescuer as well: sessions reach theirs first and the rest of the machine stays quick.
 */
export function sliceLimits(agent: Limited): SliceLimits {
  const reserve = Math.max(TASKS_RESERVE, Math.floor(agent.pidsMax / TASKS_RESERVE_PART));
  return {
    memoryHigh: agent.memory.high - agent.memory.guestReserve,
    tasksMax: agent.pidsMax - reserve,
  };
}
