import { isHostOf, parseAddress, parseCidr } from "./address.ts";
import { isCalendar } from "./calendar.ts";
import type { Fault } from "./faults.ts";
import type { AgentConfig, NodeConfig } from "./schema.ts";
import { formatSize } from "./units.ts";

/** What the keys of one agent tell only together. */

const MiB = 2 ** 20;
const DAY = 86_400;
/** The kernel rounds memory.high down to pages; a value between two would never read back equal. */
const PAGE = 4096;

/** Least distance between memory.high and memory.max: what a burst takes while it is throttled. */
const HEADROOM = 64 * MiB;
/** Least memory of the sessions' slice; below it not even one harness starts. */
const SLICE_FLOOR = 128 * MiB;

/** Names that a Debian guest already has; useradd would refuse them late. */
const TAKEN_USERS = new Set(
  "root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc nobody messagebus sshd operator".split(
    " ",
  ),
);

/** What Berth itself writes, who may be root, and what is no file: no `files` entry may name them. */
const OWNED = [
  /^\/etc\/berth(\/|$)/,
  /^\/etc\/gitconfig$/,
  /^\/etc\/systemd\/(user|system)\/berth/,
  /^\/etc\/systemd\/(user\.conf\.d|system\/user@\.service\.d)\/berth\.conf$/,
  /^\/usr\/lib\/berth(\/|$)/,
  /^\/usr\/local\/bin\/berth$/,
  /^\/var\/lib\/berth(\/|$)/,
  /^\/etc\/(passwd|shadow|group|gshadow|sudoers|subuid|subgid)-?$/,
  /^\/etc\/(pam|sudoers)\.d(\/|$)/,
  /^\/(dev|proc|run|sys)(\/|$)/,
  /^\/etc\/ssh\/sshd_config\.d\/10-berth\.conf$/,
];

const ZONES = new Set([...Intl.supportedValuesOf("timeZone"), "UTC"]);

/** Every fault of one agent that the schema cannot see; its node when that is readable. */
export function checkAgent(
  name: string,
  agent: AgentConfig,
  node: NodeConfig | undefined,
): Fault[] {
  const path = `agents.${name}`;
  const faults: Fault[] = [];
  const fault = (key: string, value: unknown, message: string) =>
    faults.push({
      path: key === "" ? path : `${path}.${key}`,
      value: JSON.stringify(value),
      message,
    });

  if (TAKEN_USERS.has(name)) {
    fault("", name, "a name that is not a system user of the guest");
  }
  if (node && agent.cores > node.cores) {
    fault("cores", agent.cores, `at most the ${String(node.cores)} cores of node "${agent.node}"`);
  }
  if (agent.uid === 0) {
    faults.push({ path: `${path}.uid`, message: "needed, because 10000 + vmid is above 65533" });
  }
  faults.push(...checkMemory(path, agent.memory), ...checkAddress(path, agent));
  if (agent.sessions.memory > agent.memory.high - agent.memory.guestReserve) {
    fault(
      "sessions.memory",
      formatSize(agent.sessions.memory),
      "at most what one session can have: memory.high - guestReserve",
    );
  }
  for (const file of Object.keys(agent.files)) {
    if (OWNED.some((pattern) => pattern.test(file))) {
      fault("files", file, "a path that neither Berth nor the system keeps to itself");
    }
    if (file.startsWith("/home/") && !file.startsWith(`/home/${name}/`)) {
      fault("files", file, `below /home/${name}, or outside /home`);
    }
  }
  for (const [loopName, loop] of Object.entries(agent.loops)) {
    const key = `loops.${loopName}`;
    if ((loop.every === undefined) === (loop.calendar === undefined)) {
      faults.push({ path: `${path}.${key}`, message: "exactly one of every and calendar" });
    }
    if (
      loop.every !== undefined &&
      (loop.every % 60 !== 0 || loop.every > DAY || DAY % loop.every !== 0)
    ) {
      fault(
        `${key}.every`,
        `${String(loop.every)}s`,
        "a period of whole minutes that divides a day evenly, such as 5min, 45min, 1h or 8h; or calendar",
      );
    }
    if (loop.calendar !== undefined && !isCalendar(loop.calendar)) {
      fault(
        `${key}.calendar`,
        loop.calendar,
        "a calendar expression of systemd without a zone, such as Mon..Fri 08:00 or *-*-* 03:10:00",
      );
    }
    if (!ZONES.has(loop.timeZone)) {
      fault(
        `${key}.timeZone`,
        loop.timeZone,
        "a time zone of the IANA list, such as Europe/Zurich",
      );
    }
  }
  return faults;
}

function checkMemory(path: string, memory: AgentConfig["memory"]): Fault[] {
  const faults: Fault[] = [];
  const fault = (key: keyof AgentConfig["memory"], message: string) =>
    faults.push({ path: `${path}.memory.${key}`, value: formatSize(memory[key]), message });
  if (memory.max % MiB !== 0 || memory.swap % MiB !== 0) {
    fault(memory.max % MiB === 0 ? "swap" : "max", "a whole number of MiB, as Proxmox counts");
  }
  if (memory.high % PAGE !== 0) {
    fault("high", "a whole number of KiB, divisible by 4, as the kernel counts");
  }
  if (memory.high > memory.max - HEADROOM) {
    fault(
      "high",
      `at least ${formatSize(HEADROOM)} under max (${formatSize(memory.max)}), so that throttling comes before killing`,
    );
  }
  if (memory.high - memory.guestReserve < SLICE_FLOOR) {
    fault(
      "guestReserve",
      `at least ${formatSize(SLICE_FLOOR)} less than high (${formatSize(memory.high)}): the rest is what sessions get`,
    );
  }
  return faults;
}

function checkAddress(path: string, agent: AgentConfig): Fault[] {
  const cidr = parseCidr(agent.address);
  if (!cidr) {
    return [];
  }
  const faults: Fault[] = [];
  if (!isHostOf(cidr.network, cidr.address)) {
    faults.push({
      path: `${path}.address`,
      value: JSON.stringify(agent.address),
      message: "a host address, not the network's own or its broadcast address",
    });
  }
  const gateway = agent.gateway === undefined ? undefined : parseAddress(agent.gateway);
  if (gateway !== undefined && (!isHostOf(cidr.network, gateway) || gateway === cidr.address)) {
    faults.push({
      path: `${path}.gateway`,
      value: JSON.stringify(agent.gateway),
      message: `another host address of the network of ${agent.address}`,
    });
  }
  return faults;
}
