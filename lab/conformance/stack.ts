/** Stacks of the tests: the real engine, an inline program, a state in a temporary directory. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import {
  LocalWorkspace,
  type EngineEvent,
  type PulumiFn,
  type Stack,
} from "@pulumi/pulumi/automation/index.js";

import { useEngine } from "../engine.ts";

/** The plugins under test: those of `BERTH_PLUGINS_DIR`, else the lab's stand-ins. */
export const PLUGINS_DIR =
  process.env["BERTH_PLUGINS_DIR"] ?? path.join(import.meta.dirname, "..", "plugins", "bin");

/** One operation on a resource that is not the stack itself or a provider. */
export interface Step {
  readonly op: string;
  readonly name: string;
  /** Paths of the properties that changed. */
  readonly changed: readonly string[];
  /** Paths of those that make it a replacement. */
  readonly replaces: readonly string[];
  /** The outputs after the step, as the engine shows them. */
  readonly outputs: Readonly<Record<string, unknown>>;
}

export interface Ran {
  readonly steps: readonly Step[];
  readonly diagnostics: string;
}

/** Thrown for a failed operation, with what the engine said. */
export class OperationError extends Error {
  readonly steps: readonly Step[];

  constructor(message: string, steps: readonly Step[]) {
    super(message);
    this.steps = steps;
  }
}

export class TestStack {
  readonly #stack: Stack;
  readonly #directory: string;

  private constructor(stack: Stack, directory: string) {
    this.#stack = stack;
    this.#directory = directory;
  }

  static async create(environment: Readonly<Record<string, string>> = {}): Promise<TestStack> {
    await useEngine();
    const directory = mkdtempSync(path.join(tmpdir(), "berth-conformance-"));
    const stack = await LocalWorkspace.createStack(
      { stackName: "test", projectName: "conformance", program: () => Promise.resolve() },
      {
        pulumiHome: directory,
        envVars: {
          PATH: `${PLUGINS_DIR}${path.delimiter}${process.env["PATH"] ?? ""}`,
          PULUMI_BACKEND_URL: `file://${directory}`,
          PULUMI_CONFIG_PASSPHRASE: "conformance",
          PULUMI_SKIP_UPDATE_CHECK: "true",
          PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
          BERTH_NODE: process.execPath,
          ...environment,
        },
      },
    );
    return new TestStack(stack, directory);
  }

  up(program: PulumiFn): Promise<Ran> {
    return this.#run((onEvent) => this.#stack.up({ program, onEvent }));
  }

  preview(program: PulumiFn): Promise<Ran> {
    return this.#run((onEvent) => this.#stack.preview({ program, onEvent }));
  }

  refresh(): Promise<Ran> {
    return this.#run((onEvent) => this.#stack.refresh({ onEvent }));
  }

  destroy(): Promise<Ran> {
    return this.#run((onEvent) => this.#stack.destroy({ onEvent }));
  }

  /** The state as it is stored, secrets encrypted: an export would show them. */
  state(): string {
    return readFileSync(
      path.join(this.#directory, ".pulumi", "stacks", "conformance", "test.json"),
      "utf8",
    );
  }

  /** Removes the stack's files; what it deployed is left to its server. */
  remove(): void {
    rmSync(this.#directory, { recursive: true });
  }

  async #run(operation: (onEvent: (event: EngineEvent) => void) => Promise<unknown>): Promise<Ran> {
    const events: EngineEvent[] = [];
    try {
      await operation((event) => events.push(event));
    } catch (error) {
      throw new OperationError(`${diagnostics(events)}\n${String(error)}`, steps(events));
    }
    return { steps: steps(events), diagnostics: diagnostics(events) };
  }
}

// The engine's own tracing, which the SDK's types do not know of.
function isDebug({ severity }: { readonly severity: string }): boolean {
  return severity === "debug";
}

function diagnostics(events: readonly EngineEvent[]): string {
  return events
    .map(({ diagnosticEvent: said }) => (said === undefined || isDebug(said) ? "" : said.message))
    .join("");
}

function steps(events: readonly EngineEvent[]): Step[] {
  const found: Step[] = [];
  for (const event of events) {
    // After an operation its outputs are known; a preview says as much before.
    const metadata = event.resOutputsEvent?.metadata ?? event.resOpFailedEvent?.metadata;
    if (metadata === undefined || metadata.type.startsWith("pulumi:")) {
      continue;
    }
    const detailed = Object.entries(metadata.detailedDiff ?? {});
    found.push({
      op: metadata.op,
      name: metadata.urn.split("::").at(-1) ?? "",
      changed: detailed.map(([property]) => property).sort(),
      replaces: detailed
        .filter(([, { diffKind }]) => diffKind.endsWith("replace"))
        .map(([property]) => property)
        .sort(),
      outputs: (metadata.new?.outputs ?? {}) as Record<string, unknown>,
    });
  }
  return found;
}

/** The operations of a run, in the order in which they ended. */
export function ops({ steps: all }: Ran): string[] {
  return all.map(({ op }) => op);
}

/** What the engine said of an operation that has to fail. */
export async function failure(operation: Promise<unknown>): Promise<string> {
  try {
    await operation;
  } catch (error) {
    assert.ok(error instanceof OperationError, String(error));
    return error.message;
  }
  return assert.fail("the operation should fail");
}
