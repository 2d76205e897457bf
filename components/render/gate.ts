import type { AgentConfig } from "../config/schema.ts";
import { sliceLimits } from "./limits.ts";

/** Where the node mounts the shared programs in every guest. */
export const RUNTIME_MOUNT = "/usr/lib/berth";

/**
 * The agent's own gate: its figures are in it, because the guest cannot read its outer limits, and a
 * reviewer sees in the preview what a change of the config does to them.
 */
export function gateScript(name: string, agent: AgentConfig, guestHash: string): string {
  const slice = sliceLimits(agent);
  return [
    "#!/bin/sh",
    `# Gate of agent ${name}: may one more session start? Written by Berth, changes here are lost.`,
    `exec ${RUNTIME_MOUNT}/${guestHash}/gate.py \\`,
    `  --agent ${name} \\`,
    `  --slice-high ${String(slice.memoryHigh)} \\`,
    `  --session-memory ${String(agent.sessions.memory)} \\`,
    `  --max-sessions ${String(agent.sessions.max)} \\`,
    `  --tasks-max ${String(slice.tasksMax)} \\`,
    '  "$@"',
    "",
  ].join("\n");
}

/** The `berth` command of a guest: the gate is the agent's own, all else is the shared runtime. */
export function dispatcher(guestHash: string): string {
  return [
    "#!/bin/sh",
    "# The agent's berth command. Written by Berth, changes here are lost.",
    'if [ "${1-}" = gate ]; then',
    "  shift",
    '  exec /etc/berth/gate "$@"',
    "fi",
    `exec ${RUNTIME_MOUNT}/${guestHash}/berth "$@"`,
    "",
  ].join("\n");
}
