import { z } from "zod";

import {
  absolutePath,
  address,
  cidr,
  line,
  matching,
  NAME,
  NAME_FORM,
  publicKey,
  size,
  span,
  whole,
} from "./fields.ts";

/**
 * The config of a fleet: every key, its form and its default. What a key alone cannot tell
 * (sums, clashes, addresses inside their network) is in `checks.ts`.
 */

const GiB = 2 ** 30;
const MiB = 2 ** 20;

/** Highest values that the kernel takes: PID_MAX_LIMIT on 64 bit, and the default of fs.nr_open. */
const PIDS_LIMIT = 4_194_304;
const NOFILE_LIMIT = 1_048_576;

const ENDPOINT_FORM =
  "the https address of the Proxmox API with its port and no path, such as https://pve1.lan:8006/";

/** The provider adds the API's path itself; without a port it would ask 443, where Proxmox is not. */
function isEndpoint(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" && /:\d+\/?$/.test(text) && url.pathname === "/";
}

const name = () => matching(NAME, NAME_FORM);

const memory = z.strictObject({
  /** Hard limit (memory.max): above it the kernel kills. */
  max: size().describe("Hard limit of the container (memory.max): above it the kernel kills"),
  /** Soft limit (memory.high): above it the kernel throttles. Default: 7/8 of max. */
  high: size()
    .optional()
    .describe("Soft limit (memory.high): above it the kernel throttles. Default: 7/8 of max"),
  /** Kept free of sessions, so that ssh and the rescuer are never throttled. Default 512MiB. */
  guestReserve: size()
    .default(512 * MiB)
    .describe("Kept free of sessions for sshd and the rescuer. Default: 512MiB"),
  /** Swap on top of memory. Default 0B. */
  swap: size(0).default(0).describe("Swap on top of memory. Default: 0B"),
});

const home = z.strictObject({
  /** Most that home may hold, snapshots not counted (refquota). */
  quota: size().describe("Most that home may hold, snapshots not counted (ZFS refquota)"),
});

const file = z.strictObject({
  content: z
    .string({ error: "the text of the file" })
    .describe("Text of the file; no secrets: it is readable in previews"),
  mode: matching(
    /^0[0-7][0145]{2}$/,
    'a mode in quotes that only the owner may write, such as "0644"',
  ).default("0644"),
});

const git = z.strictObject({
  name: line("the author's name for the agent's commits"),
  email: matching(
    /^[^\s@<>\u0000-\u001f]+@[^\s@<>.\u0000-\u001f]+(\.[^\s@<>.\u0000-\u001f]+)+$/,
    "an e-mail address with a domain, for the agent's commits",
  ),
});

const loop = z.strictObject({
  /** What runs: a program and its arguments, no shell. */
  command: z
    .array(
      z
        .string({ error: "a string" })
        .min(1, "not an empty string")
        .regex(/^[^\u0000]*$/, "no NUL character"),
      { error: 'a list: the program and its arguments, such as ["git", "fetch"]' },
    )
    .min(1, "a list with at least the program")
    .describe("Program and arguments; no shell reads them"),
  /** Period; must divide a day evenly, so that the runs keep their times over reinstalls. */
  every: span().optional().describe("Period that divides a day evenly, such as 5min, 1h or 8h"),
  /** systemd calendar expression, in `timeZone`. */
  calendar: line("a calendar expression of systemd, such as Mon..Fri 08:00").optional(),
  /** Zone of `calendar`. Default UTC. */
  timeZone: line("a time zone of the IANA list, such as Europe/Zurich").default("UTC"),
  /** Longest run before it is ended. Default 1h. */
  timeLimit: span().default(3600).describe("Longest run before it is ended. Default: 1h"),
});

const sessions = z.strictObject({
  /** Most sessions at once. Default 6: fourteen at once finish less than six. */
  max: whole(1, 1000, "most sessions at once").default(6),
  /** Expected memory of one session until its own record tells. Default 1GiB. */
  memory: size().default(GiB).describe("Expected memory of one session. Default: 1GiB"),
});

export const agentSchema = z.strictObject({
  node: name().describe("Proxmox node that carries the agent, a key of nodes"),
  vmid: whole(100, 999_999_999, "VMID of the container"),
  address: cidr().describe("Address of the agent with its prefix"),
  gateway: address()
    .optional()
    .describe("Default gateway. Default: none, the agent reaches its network only"),
  /** User id in the guest, one for each agent in the fleet. Default: 10000 + vmid where that fits. */
  uid: whole(1000, 65_533, "user id in the guest")
    .optional()
    .describe(
      "User id in the guest, one for each agent. Default: 10000 + vmid where that is at most 65533",
    ),
  cores: whole(1, 1024, "cores"),
  memory,
  /** Most processes and threads at once (pids.max). */
  pidsMax: whole(512, PIDS_LIMIT, "most processes and threads (pids.max)"),
  /** Most open files of a process (hard and soft RLIMIT_NOFILE). */
  nofile: whole(1024, NOFILE_LIMIT, "most open files of a process (RLIMIT_NOFILE)"),
  /** Size of the root file system, which dies with the machine. Default 8GiB. */
  rootSize: size()
    .default(8 * GiB)
    .describe("Size of the root file system. Default: 8GiB"),
  home,
  packages: z.array(matching(/^[a-z0-9][a-z0-9+.-]+$/, "the name of a Debian package")).default([]),
  files: z.record(absolutePath(), file).default({}),
  git,
  sessions: sessions.prefault({}),
  loops: z.record(name(), loop).default({}),
  /** Whether `pulumi up` may restart the container for what only a restart brings. Default never. */
  restart: z
    .enum(["never", "allowed"], { error: "never or allowed" })
    .default("never")
    .describe(
      "Whether an update may restart the container for what only a restart brings. Default: never, and it is shown as pending",
    ),
  /** Lifts the protection and says why, for a replacement. */
  replace: line("the reason for replacing this machine")
    .optional()
    .describe("Reason; lifts the protection of the machine as long as it is set"),
  /** Lifts the protection, so that removing the entry takes the machine; home stays. Default false. */
  retired: z
    .boolean({ error: "true or false" })
    .default(false)
    .describe(
      "Lifts the protection, so that removing the entry takes the machine and keeps the home",
    ),
});

export const nodeSchema = z.strictObject({
  address: matching(
    /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/,
    "a host name or an IPv4 address for ssh",
  ),
  port: whole(1, 65_535, "port of sshd").default(22),
  user: matching(
    /^[a-z_][a-z0-9_-]{0,31}$/,
    "a user who is root or may use sudo without a password",
  ).default("root"),
  hostKey: publicKey("the node's ssh host key"),
  /** Parent dataset of the homes. */
  pool: matching(
    /^[A-Za-z][A-Za-z0-9_.:-]*(\/[A-Za-z0-9][A-Za-z0-9_.:-]*)+$/,
    "a ZFS dataset inside a pool, such as rpool/berth",
  ),
  /** Storage of the root file systems. Default local-zfs. */
  datastore: matching(
    /^[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]$/,
    "the name of a Proxmox storage",
  ).default("local-zfs"),
  template: matching(
    /^[A-Za-z][A-Za-z0-9_.-]*:vztmpl\/[A-Za-z0-9][A-Za-z0-9_.+-]*\.tar\.(gz|xz|zst)$/,
    "a template volume, such as local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst",
  ),
  bridge: matching(/^[a-zA-Z][a-zA-Z0-9_.]{0,14}$/, "the name of a bridge").default("vmbr0"),
  cores: whole(1, 4096, "cores of the node"),
  memory: size().describe("Memory of the node"),
  /** Memory for Proxmox itself and the ZFS cache. Default 4GiB. */
  reserve: size()
    .default(4 * GiB)
    .describe("Memory for Proxmox itself and the ZFS cache. Default: 4GiB"),
  /** How the operator's ssh reaches the agents: over the network, or through the node. Default direct. */
  guestAccess: z
    .enum(["direct", "through-node"], { error: "direct or through-node" })
    .default("direct")
    .describe("How ssh reaches the agents"),
});

export const fleetSchema = z.strictObject({
  proxmox: z.strictObject({
    endpoint: z
      .string({ error: ENDPOINT_FORM })
      .refine(isEndpoint, ENDPOINT_FORM)
      .describe("Address of the Proxmox API; its certificate must be trusted by this machine"),
  }),
  access: z.strictObject({
    /** Who may log in as an agent. */
    keys: z
      .array(publicKey("an operator's public key"))
      .min(1, "at least one operator's public key"),
    /** Where the operator keeps the output `knownHosts`. */
    knownHostsFile: line("a path for ssh").default("~/.ssh/berth_known_hosts"),
    /** Private key that ssh offers. Default: what ssh finds by itself. */
    identityFile: line("a path for ssh").optional(),
  }),
  nodes: z
    .record(name(), nodeSchema)
    .refine((nodes) => Object.keys(nodes).length > 0, "at least one node"),
  agents: z.record(name(), agentSchema),
});

/** Keys that hold secrets; they are read with `requireSecret` and never by the schema. */
export const SECRET_KEYS = ["proxmoxToken", "nodeKey"] as const;

export type RawFleet = z.output<typeof fleetSchema>;
export type NodeConfig = z.output<typeof nodeSchema>;
export type LoopConfig = z.output<typeof loop>;
export type FileConfig = z.output<typeof file>;

/** An agent with every derived default in place. Sizes are bytes, spans seconds. */
export interface AgentConfig extends Omit<z.output<typeof agentSchema>, "uid" | "memory"> {
  readonly uid: number;
  readonly memory: { max: number; high: number; guestReserve: number; swap: number };
}

export interface FleetConfig extends Omit<RawFleet, "agents"> {
  readonly agents: Readonly<Record<string, AgentConfig>>;
}
