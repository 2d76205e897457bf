import type { z } from "zod";

/** One fault of a config: where, what was found, and the right form. */
export interface Fault {
  /** Dotted path such as `agents.bob.memory.high`. */
  readonly path: string;
  /** The value found, as JSON; undefined when the key is missing or its value is not to be shown. */
  readonly value?: string;
  /** The right form, as a phrase: "a size with an IEC unit, such as 8GiB". */
  readonly message: string;
}

/** Longest piece of a value that an error repeats. */
const SHOWN = 80;

/** Every fault of a config in one error, without a stack: the message is for the person who wrote it. */
export class ConfigError extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[], source: string) {
    super(formatFaults(faults, source));
    this.name = "ConfigError";
    this.faults = faults;
  }
}

export function formatFaults(faults: readonly Fault[], source: string): string {
  const count = faults.length === 1 ? "1 fault" : `${String(faults.length)} faults`;
  const lines = faults.map((fault) =>
    fault.value === undefined
      ? `  ${fault.path}: ${fault.message}`
      : `  ${fault.path}: ${fault.value} is not right: ${fault.message}`,
  );
  return [`${count} in ${source}; nothing was changed:`, ...lines].join("\n");
}

/** Right forms of what has a shape of its own; everything else says its form in the schema. */
const SHAPES: Readonly<Record<string, string>> = {
  array: "a list, such as [a, b]",
  object: "a map of keys, as in docs/config.md",
  record: "a map of names, as in docs/config.md",
};

/** The faults of a zod error, with the values that caused them. */
export function faultsOf(error: z.ZodError, input: unknown): Fault[] {
  return error.issues.flatMap((issue): Fault[] => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        path: pathOf([...issue.path, key]),
        message: "no such key; see `./berth config schema`",
      }));
    }
    if (issue.code === "invalid_key") {
      // The key itself is at fault (an agent's name, a file's path): zod keeps the reason inside.
      const reason = issue.issues[0]?.message ?? issue.message;
      return [{ path: pathOf(issue.path), message: `its name is not right: ${reason}` }];
    }
    const value = valueAt(input, issue.path);
    const message =
      issue.code === "invalid_type" ? (SHAPES[issue.expected] ?? issue.message) : issue.message;
    return value === undefined
      ? [{ path: pathOf(issue.path), message: `missing: ${message}` }]
      : [{ path: pathOf(issue.path), value: shown(value), message }];
  });
}

/** Dotted path; keys that hold a dot or a slash are quoted. */
export function pathOf(path: readonly PropertyKey[]): string {
  return path
    .map(String)
    .map((key) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key)))
    .join(".");
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    input,
  );
}

function shown(value: unknown): string {
  // Pasted key material in a wrong place must not travel into a log.
  if (typeof value === "string" && /PRIVATE KEY|PVEAPIToken|![\w-]+=|^sk-/.test(value)) {
    return "(a secret, not shown)";
  }
  const text = JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text;
}
