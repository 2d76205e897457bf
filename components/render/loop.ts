import type { LoopConfig } from "../config/schema.ts";
import { everyCalendar, stableOffset } from "./schedule.ts";
import { execArgument, literal, unitFile } from "./unit-file.ts";

/** Longest wait in the gate before a run is given up, in seconds; a period when that is shorter. */
const LONGEST_WAIT = 3600;
/** Spread of a calendar loop, in seconds: agents with the same time do not start in one second. */
const CALENDAR_SPREAD = 120;

export const SESSIONS_SLICE = "berth-sessions.slice";

export interface LoopUnits {
  readonly service: string;
  readonly timer: string;
  readonly files: Readonly<Record<string, string>>;
}

/** The service and timer of one loop, as user units of the agent. */
export function loopUnits(agent: string, name: string, loop: LoopConfig): LoopUnits {
  const service = `berth-loop-${name}.service`;
  const timer = `berth-loop-${name}.timer`;
  return {
    service,
    timer,
    files: {
      [service]: loopService(agent, name, loop),
      [timer]: loopTimer(agent, name, loop),
    },
  };
}

function loopService(agent: string, name: string, loop: LoopConfig): string {
  const command = [
    "/usr/local/bin/berth",
    "session",
    "exec",
    "--kind",
    "loop",
    "--name",
    name,
    "--",
  ]
    .map(execArgument)
    .concat(loop.command.map(execArgument));
  return unitFile(`Loop ${name} of agent ${agent}; written by Berth, changes here are lost.`, [
    [
      "Unit",
      [
        ["Description", literal(`Berth loop ${name}`)],
        ["ConditionUser", agent],
      ],
    ],
    [
      "Service",
      [
        // The run is in the gate while it is activating, and itself from READY on: so the
        // first limit bounds the wait and the second the run alone.
        ["Type", "notify"],
        ["NotifyAccess", "main"],
        ["ExecStart", command.join(" ")],
        ["RuntimeMaxSec", loop.timeLimit],
        ["TimeoutStartSec", Math.min(loop.every ?? LONGEST_WAIT, LONGEST_WAIT)],
        ["TimeoutStopSec", 30],
        ["Slice", SESSIONS_SLICE],
        // "Not now" of the gate is no failure; a broken gate (69) is.
        ["SuccessExitStatus", 75],
        // A child that is killed for memory takes its own session along, never another's.
        ["OOMPolicy", "stop"],
        ["StandardInput", "null"],
        // An agent's forwarded socket belongs to a login that has ended by then.
        ["UnsetEnvironment", "SSH_AUTH_SOCK"],
        ["WorkingDirectory", "%h"],
      ],
    ],
  ]);
}

function loopTimer(agent: string, name: string, loop: LoopConfig): string {
  const times =
    loop.every === undefined
      ? [`${loop.calendar ?? ""} ${loop.timeZone}`]
      : everyCalendar(loop.every, stableOffset(agent, name, loop.every));
  const spread =
    loop.every === undefined
      ? [["RandomizedDelaySec", CALENDAR_SPREAD] as const, ["FixedRandomDelay", "true"] as const]
      : [];
  return unitFile(
    `Times of loop ${name} of agent ${agent}; written by Berth, changes here are lost.`,
    [
      [
        "Unit",
        [
          ["Description", literal(`Times of Berth loop ${name}`)],
          ["ConditionUser", agent],
        ],
      ],
      [
        "Timer",
        [
          ...times.map((time) => ["OnCalendar", time] as const),
          ...spread,
          ["AccuracySec", "1s"],
          ["Persistent", "true"],
        ],
      ],
      ["Install", [["WantedBy", "timers.target"]]],
    ],
  );
}
