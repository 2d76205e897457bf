import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { parse, YAMLParseError } from "yaml";

import { ConfigError, type Fault } from "../components/config/faults.ts";
import { NAMESPACE } from "../components/config/load.ts";
import { fleetSchema, SECRET_KEYS } from "../components/config/schema.ts";
import { UserError } from "./errors.ts";

/** A stack file as it lies on disk: read without the engine, so that nobody needs its secrets. */

/** sysexits.h: the config is at fault; no input file. */
export const EXIT_CONFIG = 78;
export const EXIT_NO_INPUT = 66;

/** Top-level keys of a stack file that the engine knows. */
const STACK_KEYS = new Set([
  "config",
  "encryptedkey",
  "encryptionsalt",
  "environment",
  "secretsprovider",
]);

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
  const misplaced = misplacedKeys(document as Record<string, unknown>, config);
  if (misplaced.length > 0) {
    throw new ConfigError(misplaced, file);
  }
  return Object.fromEntries(
    Object.entries(config)
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => [key.slice(prefix.length), value]),
  );
}

/** Secrets that are not encrypted; their values are never repeated. */
export function secretFaults(document: Readonly<Record<string, unknown>>): Fault[] {
  return SECRET_KEYS.flatMap((key): Fault[] => {
    const value = document[key];
    const isEncrypted =
      isRecord(value) &&
      Object.keys(value).length === 1 &&
      typeof value["secure"] === "string" &&
      // Ciphertext of every secrets provider is base64, with a version before it for passphrases.
      /^(v\d+:[\w+/=]+:)?[\w+/=]{24,}$/.test(value["secure"]);
    return value === undefined || isEncrypted
      ? []
      : [
          {
            path: key,
            message:
              "not encrypted: take the line out, make a new one if it was shared, then " +
              `pulumi config set --secret ${key}`,
          },
        ];
  });
}

/** Keys that Pulumi would take for something else, or nobody would read. */
function misplacedKeys(
  document: Readonly<Record<string, unknown>>,
  config: Readonly<Record<string, unknown>>,
): Fault[] {
  const names: readonly string[] = [...Object.keys(fleetSchema.shape), ...SECRET_KEYS];
  const bare = (key: string) => key.slice(key.indexOf(":") + 1);
  return [
    ...Object.keys(document)
      .filter((key) => !STACK_KEYS.has(key))
      .map((key) => ({
        path: key,
        message: names.includes(bare(key))
          ? `belongs under config, as ${NAMESPACE}:${bare(key)}`
          : `no key of a stack file; there are ${[...STACK_KEYS].join(", ")}`,
      })),
    ...Object.keys(config)
      .filter((key) => !key.startsWith(`${NAMESPACE}:`) && names.includes(bare(key)))
      .map((key) => ({
        path: `config.${key}`,
        message: `is read as ${NAMESPACE}:${bare(key)} only`,
      })),
  ];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
