import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { Command } from "commander";
import { parse, YAMLParseError } from "yaml";

import { ConfigError } from "../components/config/faults.ts";
import { NAMESPACE, parseFleet } from "../components/config/load.ts";
import { configReference } from "../components/config/reference.ts";
import { stackFileSchema } from "../components/config/json-schema.ts";
import type { FleetConfig } from "../components/config/schema.ts";
import { formatSize } from "../components/config/units.ts";
import { UserError } from "./errors.ts";

/** sysexits.h: the config is at fault; no input file. */
const EXIT_CONFIG = 78;
const EXIT_NO_INPUT = 66;

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
    const fleet = parseFleet(stackDocument(file), file);
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

/**
 * The document under `berth:` of a stack file.
 *
 * @throws UserError when the file cannot be read or is no stack file.
 */
export function stackDocument(file: string): Record<string, unknown> {
  const path = resolve(file);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UserError(
      `cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`,
      { exitCode: EXIT_NO_INPUT },
    );
  }
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    if (error instanceof YAMLParseError) {
      throw new UserError(`${file} is not YAML: ${error.message}`, { exitCode: EXIT_CONFIG });
    }
    throw error;
  }
  const config = isRecord(document) ? document["config"] : undefined;
  if (!isRecord(config)) {
    throw new UserError(`${file} has no config`, {
      hint: 'A stack file holds "config:" with keys such as "berth:agents:".',
      exitCode: EXIT_CONFIG,
    });
  }
  const prefix = `${NAMESPACE}:`;
  return Object.fromEntries(
    Object.entries(config)
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => [key.slice(prefix.length), value]),
  );
}

function summary(fleet: FleetConfig, file: string): string {
  const nodes = Object.entries(fleet.nodes).map(([name, node]) => {
    const agents = Object.entries(fleet.agents).filter(([, agent]) => agent.node === name);
    const used = agents.reduce((sum, [, agent]) => sum + agent.memory.max, 0);
    return `  ${name}: ${agents.map(([agent]) => agent).join(", ") || "no agents"}; limits ${formatSize(used)} of ${formatSize(node.memory - node.reserve)}`;
  });
  return `${file} is right: ${String(Object.keys(fleet.agents).length)} agents\n${nodes.join("\n")}\n`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
