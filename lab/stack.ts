import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

import { LocalWorkspace, type Stack } from "@pulumi/pulumi/automation/index.js";

import { UserError } from "../cli/errors.ts";
import { ROOT } from "../cli/root.ts";
import program from "../index.ts";
import { hasSecrets } from "./config.ts";
import type { Engine } from "./engine.ts";
import type { Identity } from "./machine/identity.ts";
import type { LabPaths } from "./paths.ts";
import { mustRun } from "../cli/process.ts";

/** The lab's stack: the same program as on a real cluster, run in-process by the real engine. */

const SECRETS = ["berth:proxmoxToken", "berth:nodeKey"] as const;

/** Outputs of the program, as the lab uses them. */
export interface FleetOutputs {
  readonly agents: Readonly<Record<string, unknown>>;
  readonly sshConfig: string;
  readonly knownHosts: string;
}

export interface UpResult {
  readonly outputs: FleetOutputs;
  /** How many resources were made, changed or removed. */
  readonly changes: number;
}

/** The stack with its secrets set; made when it is not there. */
export async function openStack(
  paths: LabPaths,
  identity: Identity,
  engine: Engine,
  environment: Readonly<Record<string, string>>,
): Promise<Stack> {
  mkdirSync(paths.at("state"), { recursive: true, mode: 0o700 });
  // The interface looks for the engine on this process's own PATH.
  process.env["PATH"] = environment["PATH"];
  const stack = await LocalWorkspace.createOrSelectStack(
    {
      stackName: paths.name,
      projectName: "berth",
      program: () => Promise.resolve({ ...program() }),
    },
    { workDir: ROOT, envVars: { ...environment } },
  );
  await setSecrets(paths, identity, engine, environment);
  return stack;
}

/** Operations of the engine that leave a resource as it was. */
const NO_CHANGE = new Set(["same", "read", "refresh"]);

/** Brings the lab's fleet to its config; what was taken away by hand is seen and made again. */
export async function upStack(stack: Stack, onOutput: (text: string) => void): Promise<UpResult> {
  const result = await stack
    .up({ onOutput, refresh: true, color: process.stdout.isTTY ? "always" : "never" })
    .catch((error: unknown) => {
      // What the engine has to say it has said: the error repeats all of it.
      throw new UserError("the fleet is not up: see the engine's messages above", { cause: error });
    });
  const outputs = Object.fromEntries(
    Object.entries(result.outputs).map(([name, output]) => [name, output.value as unknown]),
  );
  return {
    outputs: outputs as unknown as FleetOutputs,
    changes: Object.entries(result.summary.resourceChanges ?? {})
      .filter(([operation]) => !NO_CHANGE.has(operation))
      .reduce((sum, [, count]) => sum + count, 0),
  };
}

/** Sets the secrets by standard input: an argument would be in the process list. */
async function setSecrets(
  paths: LabPaths,
  identity: Identity,
  engine: Engine,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const values = { "berth:proxmoxToken": identity.token, "berth:nodeKey": identity.sshKey };
  const stamp = paths.at("secrets.sha256");
  const sum = createHash("sha256").update(JSON.stringify(values)).digest("hex");
  if (
    hasSecrets(paths.stackFile, SECRETS) &&
    existsSync(stamp) &&
    readFileSync(stamp, "utf8") === sum
  ) {
    return;
  }
  for (const key of SECRETS) {
    await mustRun(
      engine.program,
      ["config", "set", "--secret", key, "--stack", paths.name, "--non-interactive"],
      {
        cwd: ROOT,
        env: { ...process.env, ...environment },
        input: values[key],
      },
    );
  }
  writeFileSync(stamp, sum, { mode: 0o600 });
}
