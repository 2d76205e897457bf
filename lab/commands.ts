import { existsSync, rmSync } from "node:fs";
import { createInterface } from "node:readline/promises";

import { Command, InvalidArgumentError } from "commander";

import { UserError } from "../cli/errors.ts";
import { ROOT } from "../cli/root.ts";
import { shellWord } from "../components/remote.ts";
import { ensureEngine, type Engine } from "./engine.ts";
import { shellExports, stackEnvironment } from "./environment.ts";
import { interruptible } from "./interrupt.ts";
import { withLock } from "./lock.ts";
import { readIdentity } from "./machine/identity.ts";
import { killMachine, stopMachine } from "./machine/machine.ts";
import { LabPaths } from "./paths.ts";
import { ensurePlugins } from "./plugins.ts";
import { runHere } from "../cli/process.ts";
import { createProgress } from "./progress.ts";
import { openSsh } from "./ssh.ts";
import { status } from "./status.ts";
import { DEFAULT_SIZE, up } from "./up.ts";

interface NameOption {
  readonly name: string;
}

/** `berth lab`: a Proxmox node in a virtual machine, with two agents on it. */
export function labCommand(): Command {
  const lab = new Command("lab").description(
    "a Proxmox node in a virtual machine, to try Berth without a Proxmox host",
  );
  const add = (name: string, description: string) =>
    lab
      .command(name)
      .description(description)
      .option("--name <name>", "which lab; each has its own machine, ports and stack", "lab");

  add("up", "bring up the machine and the fleet; again after a change of the stack's config")
    .option("--memory <MiB>", "memory of the machine", whole, DEFAULT_SIZE.memory)
    .option("--cpus <number>", "processors of the machine", whole, DEFAULT_SIZE.cpus)
    .addHelpText("after", "\nExample: berth lab up")
    .action(async (options: NameOption & { memory: number; cpus: number }) => {
      await labUp(new LabPaths(options.name), options);
    });

  add("down", "stop the machine; its disks, and so the agents' homes, stay").action(
    async (options: NameOption) => {
      const paths = existing(options.name);
      const progress = createProgress();
      await interruptible(() =>
        withLock(paths.at("lock"), { wait: 0 }, async () => {
          await progress.step("Stopping the node's machine", () => stopMachine(paths));
        }),
      );
      progress.say("Stopped. Next: ./berth lab up, or lab destroy");
    },
  );

  add("status", "what runs, where, and which agents are there").action(
    async (options: NameOption) => {
      process.stdout.write(await status(new LabPaths(options.name)));
    },
  );

  add("ssh", "a shell as an agent, or as root on the node without one")
    .usage("[--name NAME] [AGENT] [-- COMMAND...]")
    .argument("[words...]")
    .addHelpText(
      "after",
      "\nExamples: berth lab ssh bob\n          berth lab ssh bob -- git log --oneline\n          berth lab ssh -- zfs list",
    )
    .action(async (_words: string[], options: NameOption, command: Command) => {
      const { agent, words } = sshWords(process.argv, command.args);
      process.exitCode = await openSsh(new LabPaths(options.name), agent, words);
    });

  add("pulumi", "the engine's own command line, on the lab's stack")
    .usage("[--name NAME] -- ARGS...")
    .argument("<words...>")
    .addHelpText("after", "\nExample: berth lab pulumi -- stack output agents --json")
    .action(async (words: string[], options: NameOption) => {
      process.exitCode = await labPulumi(existing(options.name), words);
    });

  add("env", "shell lines that let the official pulumi work on the lab's stack")
    .addHelpText("after", '\nExample: eval "$(./berth lab env)" && pulumi preview')
    .action(async (options: NameOption) => {
      await labEnv(existing(options.name));
    });

  add("destroy", "stop the machine and remove everything of this lab")
    .option("--yes", "do not ask")
    .action(async (options: NameOption & { yes?: boolean }) => {
      await labDestroy(existing(options.name), options.yes === true);
    });
  return lab;
}

async function labUp(paths: LabPaths, size: { memory: number; cpus: number }): Promise<void> {
  const progress = createProgress();
  const result = await interruptible(() =>
    up(paths, { memory: size.memory, cpus: size.cpus }, progress),
  );
  const agents = Object.keys(result.outputs.agents).sort();
  const named = paths.name === "lab" ? "" : ` --name ${paths.name}`;
  progress.say(`Up: ${agents.join(", ")}`);
  process.stdout.write(
    [
      "",
      `  ./berth lab ssh${named} ${agents[0] ?? "bob"}        a shell as an agent`,
      `  ssh -F ${shellWord(paths.at("ssh_config"))} ${agents[0] ?? "bob"}`,
      `  ./berth lab status${named}         what runs`,
      `  eval "$(./berth lab env${named})"  then the official pulumi works on the same stack`,
      `  edit Pulumi.${paths.name}.yaml, then ./berth lab up${named} again`,
      "  ./berth test                 proves it end to end",
      "",
      result.changes === 1 ? "1 change" : `${String(result.changes)} changes`,
      "",
    ].join("\n"),
  );
}

async function labEnv(paths: LabPaths): Promise<void> {
  const { environment } = await engineFor(paths);
  process.stdout.write(shellExports(environment, shellWord));
}

/** Runs the engine at the root of the checkout with this terminal. @returns its exit code. */
async function labPulumi(paths: LabPaths, words: readonly string[]): Promise<number> {
  const { engine, environment } = await engineFor(paths);
  return runHere(engine.program, words, { cwd: ROOT, env: { ...process.env, ...environment } });
}

/** Engine and environment for the stack of a lab that is there. */
async function engineFor(
  paths: LabPaths,
): Promise<{ engine: Engine; environment: Record<string, string> }> {
  const progress = createProgress();
  const engine = await ensureEngine(progress);
  const plugins = await ensurePlugins(engine, progress);
  return { engine, environment: stackEnvironment(paths, readIdentity(paths), engine, plugins) };
}

/** The paths of a lab that is there. */
function existing(name: string): LabPaths {
  const paths = new LabPaths(name);
  if (!existsSync(paths.dir)) {
    throw new UserError(`there is no lab "${name}"`, { hint: "./berth lab up", exitCode: 69 });
  }
  return paths;
}

async function labDestroy(paths: LabPaths, yes: boolean): Promise<void> {
  const progress = createProgress();
  progress.say(
    `This removes ${paths.dir} (the machine's disks with the agents' homes, keys, the stack's state) and ${paths.stackFile}`,
  );
  if (
    !yes &&
    !(await confirmed(`Destroy the lab "${paths.name}"? Its name confirms it: `, paths.name))
  ) {
    throw new UserError("nothing was removed", { hint: "--yes does not ask" });
  }
  await interruptible(() =>
    withLock(paths.at("lock"), { wait: 0 }, async () => {
      // Its disks go anyway: there is nothing that a clean shutdown could save.
      await killMachine(paths);
      rmSync(paths.dir, { recursive: true, force: true });
      rmSync(paths.stackFile, { force: true });
    }),
  );
  progress.say("Removed. The cache with image and engine stays");
}

async function confirmed(question: string, answer: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(question)).trim() === answer;
  } finally {
    terminal.close();
  }
}

/**
 * Splits what follows `ssh`: words after `--` are the command, at most one before it is the agent.
 * The parser has dropped the `--`, so it is looked up in the words as they were typed.
 */
export function sshWords(
  typed: readonly string[],
  words: readonly string[],
): { agent: string | undefined; words: string[] } {
  const separator = typed.indexOf("--");
  const count = separator < 0 ? 0 : typed.length - separator - 1;
  const before = words.slice(0, words.length - count);
  if (before.length > 1) {
    throw new UserError("a command comes after --", {
      hint: `./berth lab ssh ${before[0] ?? ""} -- ${before.slice(1).join(" ")}`,
      exitCode: 64,
    });
  }
  return { agent: before[0], words: words.slice(words.length - count) };
}

function whole(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new InvalidArgumentError("a whole number.");
  }
  return value;
}
