import { Command } from "commander";

import { ConfigError } from "../components/config/faults.ts";
import { parseFleet } from "../components/config/load.ts";
import { configReference } from "../components/config/reference.ts";
import { stackFileSchema } from "../components/config/json-schema.ts";
import type { FleetConfig } from "../components/config/schema.ts";
import { formatSize } from "../components/config/units.ts";
import { UserError } from "./errors.ts";
import { EXIT_CONFIG, secretFaults, stackDocument } from "./stack-file.ts";

export function configCommand(): Command {
  const command = new Command("config").description("check a fleet's config, or print its schema");
  command
    .command("check")
    .description("check a stack file without the engine and without its secrets")
    .option("--file <path>", "stack file", "Pulumi.prod.yaml")
    .option("--json", "print the result as JSON: {ok, agents, faults: [{path, value, message}]}")
    .addHelpText(
      "after",
      "\nExample: berth config check --file Pulumi.prod.yaml\nExit codes: 0 right, 66 no such file, 78 faults",
    )
    .action((options: { file: string; json?: boolean }) => {
      checkFile(options.file, options.json === true);
    });
  command
    .command("schema")
    .description("print the JSON Schema of a stack file, for editors")
    .addHelpText("after", "\nExample: berth config schema > .vscode/berth.schema.json")
    .action(() => {
      process.stdout.write(`${JSON.stringify(stackFileSchema(), null, 2)}\n`);
    });
  command
    .command("reference")
    .description("print docs/config.md: every key, its form, its default")
    .action(() => {
      process.stdout.write(configReference());
    });
  return command;
}

function checkFile(file: string, json: boolean): void {
  try {
    const document = stackDocument(file);
    const secrets = secretFaults(document);
    if (secrets.length > 0) {
      throw new ConfigError(secrets, file);
    }
    const fleet = parseFleet(document, file);
    process.stdout.write(
      json
        ? `${JSON.stringify({ ok: true, agents: Object.keys(fleet.agents), faults: [] })}\n`
        : summary(fleet, file),
    );
  } catch (error) {
    if (!(error instanceof ConfigError)) {
      throw error;
    }
    if (!json) {
      throw new UserError(error.message, { exitCode: EXIT_CONFIG });
    }
    process.stdout.write(`${JSON.stringify({ ok: false, agents: [], faults: error.faults })}\n`);
    process.exitCode = EXIT_CONFIG;
  }
}

function summary(fleet: FleetConfig, file: string): string {
  const nodes = Object.entries(fleet.nodes).map(([name, node]) => {
    const agents = Object.entries(fleet.agents).filter(([, agent]) => agent.node === name);
    const used = agents.reduce((sum, [, agent]) => sum + agent.memory.max, 0);
    return `  ${name}: ${agents.map(([agent]) => agent).join(", ") || "no agents"}; limits ${formatSize(used)} of ${formatSize(node.memory - node.reserve)}`;
  });
  return `${file} is right: ${String(Object.keys(fleet.agents).length)} agents\n${nodes.join("\n")}\n`;
}
