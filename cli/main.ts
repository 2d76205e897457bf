import { Command } from "commander";

import { benchCommand } from "./bench.ts";
import { checkCommand } from "./check.ts";
import { configCommand } from "./config.ts";
import { UserError } from "./errors.ts";
import { testCommand } from "./test.ts";
import { labCommand } from "../lab/commands.ts";

/** Exit codes of sysexits.h that all commands share. */
const EXIT_USAGE = 64;
const EXIT_SOFTWARE = 70;

const program = new Command("berth")
  .description("A machine of its own for every coding agent, on Proxmox VE")
  .showHelpAfterError("(see berth --help)")
  .exitOverride((error) => {
    // commander's own errors are all about how it was called; help and version end with 0.
    process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE);
  });

/** Usage errors end in the same way at every depth. */
function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  command.commands.forEach((child) => inherit(child, command));
  return command;
}

for (const command of [
  labCommand(),
  testCommand(),
  configCommand(),
  checkCommand(),
  benchCommand(),
]) {
  program.addCommand(inherit(command, program));
}

try {
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof UserError) {
    process.stderr.write(
      `berth: ${error.message}\n${error.hint === undefined ? "" : `  ${error.hint}\n`}`,
    );
    process.exitCode = error.exitCode;
  } else {
    process.stderr.write(
      `berth: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exitCode = EXIT_SOFTWARE;
  }
}
