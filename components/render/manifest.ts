import type { AgentConfig } from "../config/schema.ts";
import { gateScript, dispatcher } from "./gate.ts";
import { sliceLimits } from "./limits.ts";
import { loopUnits, SESSIONS_SLICE } from "./loop.ts";
import { unitFile } from "./unit-file.ts";

/** What a guest shall be, as its manifest applier reads it. No secret: previews show every line. */
export interface Manifest {
  readonly agent: string;
  readonly user: { readonly name: string; readonly uid: number; readonly home: string };
  /** Debian packages that must be installed. */
  readonly packages: readonly string[];
  /** Files by absolute path. */
  readonly files: Readonly<Record<string, ManifestFile>>;
  /** User timers that run. */
  readonly timers: readonly string[];
  /** System units that must never start. */
  readonly mask: readonly string[];
}

export interface ManifestFile {
  /** Four octal digits. */
  readonly mode: string;
  readonly content: string;
  /** Default root. */
  readonly owner?: "root" | "agent";
}

/** What every agent needs: a user manager of its own, ssh, git, Python for Berth's own programs. */
const BASE_PACKAGES = [
  "ca-certificates",
  "dbus-user-session",
  "git",
  "libpam-systemd",
  "openssh-server",
  "libpython3-stdlib",
  "python3-minimal",
];

export interface ManifestArgs {
  /** Public keys of the people who may log in as the agent. */
  readonly keys: readonly string[];
  /** Hash of the guest runtime that the node mounts at /usr/lib/berth. */
  readonly guestHash: string;
}

export function homeOf(name: string): string {
  return `/home/${name}`;
}

export function manifest(name: string, agent: AgentConfig, args: ManifestArgs): Manifest {
  const loops = Object.entries(agent.loops).map(([loop, config]) => loopUnits(name, loop, config));
  const units = Object.assign(
    { [SESSIONS_SLICE]: slice(name, agent) },
    ...loops.map((loop) => loop.files),
  ) as Record<string, string>;
  return {
    agent: name,
    user: { name, uid: agent.uid, home: homeOf(name) },
    packages: [...new Set([...BASE_PACKAGES, ...agent.packages])].sort(),
    files: {
      ...systemFiles(name, agent, args),
      ...Object.fromEntries(
        Object.entries(units).map(([unit, content]) => [
          `/etc/systemd/user/${unit}`,
          { mode: "0644", content },
        ]),
      ),
      ...configFiles(name, agent),
    },
    timers: loops.map((loop) => loop.timer).sort(),
    // On Debian 13 /tmp is memory, half of the node's size, and counts against the agent's limit.
    mask: ["tmp.mount"],
  };
}

function systemFiles(
  name: string,
  agent: AgentConfig,
  args: ManifestArgs,
): Record<string, ManifestFile> {
  const text = (content: string, mode = "0644"): ManifestFile => ({ mode, content });
  return {
    "/usr/local/bin/berth": text(dispatcher(args.guestHash), "0755"),
    "/etc/berth/gate": text(gateScript(name, agent, args.guestHash), "0755"),
    // Login keys are not in home, so that taking home back to a snapshot brings no old key.
    [`/etc/berth/authorized_keys/${name}`]: text(`${args.keys.join("\n")}\n`),
    "/etc/ssh/sshd_config.d/10-berth.conf": text(
      [
        "# Written by Berth, changes here are lost.",
        `AllowUsers ${name}`,
        "AuthorizedKeysFile /etc/berth/authorized_keys/%u",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin no",
        "UseDNS no",
        "",
      ].join("\n"),
    ),
    "/etc/systemd/system/user@.service.d/berth.conf": text(
      unitFile("Written by Berth: the agent's user manager may limit and account its units.", [
        ["Service", [["Delegate", "cpu io memory pids"]]],
      ]),
    ),
    "/etc/systemd/user.conf.d/berth.conf": text(
      unitFile("Written by Berth: every unit has figures of its own.", [
        [
          "Manager",
          [
            ["DefaultCPUAccounting", "yes"],
            ["DefaultIOAccounting", "yes"],
            ["DefaultLimitNOFILE", agent.nofile],
            ["DefaultMemoryAccounting", "yes"],
            ["DefaultTasksAccounting", "yes"],
          ],
        ],
      ]),
    ),
    "/etc/gitconfig": text(gitConfig(agent)),
  };
}

/** Below home the agent may swap any directory, so files there are the agent's, written as the agent. */
function configFiles(name: string, agent: AgentConfig): Record<string, ManifestFile> {
  return Object.fromEntries(
    Object.entries(agent.files).map(([path, file]) => [
      path,
      path.startsWith(`${homeOf(name)}/`) ? { ...file, owner: "agent" } : file,
    ]),
  );
}

function gitConfig(agent: AgentConfig): string {
  return `# Written by Berth, changes here are lost.\n[user]\n\tname = ${gitValue(agent.git.name)}\n\temail = ${gitValue(agent.git.email)}\n[init]\n\tdefaultBranch = main\n`;
}

function gitValue(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function slice(name: string, agent: AgentConfig): string {
  const limits = sliceLimits(agent);
  return unitFile(
    `All sessions and loops of agent ${name}; written by Berth, changes here are lost.`,
    [
      [
        "Unit",
        [
          ["Description", "Berth sessions"],
          ["ConditionUser", name],
        ],
      ],
      [
        "Slice",
        [
          // Sessions give way to sshd and to a person's shell.
          ["CPUWeight", 50],
          ["MemoryHigh", limits.memoryHigh],
          ["TasksMax", limits.tasksMax],
        ],
      ],
    ],
  );
}
