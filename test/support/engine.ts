/** The real engine on the project's program: a state in a temporary directory, stand-ins around. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";

import * as pulumi from "@pulumi/pulumi";
import {
  LocalWorkspace,
  type ConfigMap,
  type EngineEvent,
  type OpMap,
  type Stack,
} from "@pulumi/pulumi/automation/index.js";

import { ROOT } from "../../cli/root.ts";
import berth from "../../index.ts";
import { useEngine } from "../../lab/engine.ts";
import { stackEnvironment } from "../../lab/environment.ts";
import { ensureIdentity, type Identity } from "../../lab/machine/identity.ts";
import { LabPaths } from "../../lab/paths.ts";
import { TestApi } from "./api.ts";
import { fleetDocument, type Document } from "./fleet.ts";
import { TestNode } from "./node.ts";

export const STACK = "lab-graph";
const STAND_INS = join(ROOT, "lab/plugins/bin");

/** One operation on a resource. */
export interface Step {
  readonly op: string;
  readonly type: string;
  readonly name: string;
  /** Paths of the properties that change. */
  readonly changed: readonly string[];
  readonly parent: string;
  readonly protect: boolean;
}

export interface Ran {
  readonly steps: readonly Step[];
  /** What a person would have seen. */
  readonly output: string;
  /** Resources by operation. */
  readonly summary: Readonly<OpMap>;
}

/** A failed operation, with what a person would have seen. */
export class EngineFailure extends Error {}

/** A fleet on one node with its engine, its API and its sshd. */
export class TestFleet {
  readonly api: TestApi;
  readonly node: TestNode;
  readonly identity: Identity;
  readonly directory: string;
  readonly #stack: Stack;

  private constructor(
    parts: { api: TestApi; node: TestNode; identity: Identity; directory: string },
    stack: Stack,
  ) {
    this.api = parts.api;
    this.node = parts.node;
    this.identity = parts.identity;
    this.directory = parts.directory;
    this.#stack = stack;
  }

  static async create(): Promise<TestFleet> {
    const engine = await useEngine();
    const directory = mkdtempSync(join(tmpdir(), "berth-graph-"));
    const paths = new LabPaths(STACK, directory);
    const identity = await ensureIdentity(paths);
    const api = await TestApi.start(identity, join(directory, "node"));
    const node = await TestNode.start(identity, api.root);
    const environment = {
      ...stackEnvironment(paths, identity, engine, { kind: "stand-in", path: [STAND_INS] }),
      PULUMI_HOME: join(directory, "home"),
    };
    mkdirSync(paths.at("state"), { recursive: true });
    const stack = await LocalWorkspace.createOrSelectStack(
      {
        stackName: STACK,
        projectName: "berth",
        program: () => Promise.resolve({ ...berth() }),
      },
      { workDir: mkdtempSync(join(directory, "work-")), envVars: environment },
    );
    const secrets: ConfigMap = {
      "berth:proxmoxToken": { value: identity.token, secret: true },
      "berth:nodeKey": { value: identity.sshKey, secret: true },
    };
    await stack.setAllConfig(secrets);
    return new TestFleet({ api, node, identity, directory }, stack);
  }

  /** The config of the stack: these agents on this node. */
  async configure(agents: Record<string, Document>, node: Document = {}): Promise<void> {
    await this.configureDocument(
      fleetDocument(agents, {
        address: "127.0.0.1",
        port: this.node.port,
        hostKey: this.identity.hostPublicKey,
        ...node,
      }),
    );
  }

  async configureDocument(document: Document): Promise<void> {
    const settings = await this.#stack.workspace.stackSettings(STACK);
    const secrets = Object.entries(settings.config ?? {}).filter(([, value]) => isSecret(value));
    const proxmox = { endpoint: `https://127.0.0.1:${String(this.api.port)}/` };
    const config = Object.entries<unknown>({ ...document, proxmox })
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [`berth:${key}`, value]);
    await this.#stack.workspace.saveStackSettings(STACK, {
      ...settings,
      config: Object.fromEntries([...secrets, ...config]) as NonNullable<typeof settings.config>,
    });
  }

  up(): Promise<Ran> {
    return this.#run((options) =>
      this.#stack.up(options).then(({ summary }) => summary.resourceChanges),
    );
  }

  /** Seconds of a preview as `pulumi preview` makes it: no diff, and nobody listens to its events. */
  async previewSeconds(): Promise<number> {
    const started = performance.now();
    await this.#stack.preview({ color: "never", suppressOutputs: true });
    return (performance.now() - started) / 1000;
  }

  preview(options: { expectNoChanges?: boolean } = {}): Promise<Ran> {
    return this.#run((run) =>
      this.#stack.preview({ ...run, ...options }).then(({ changeSummary }) => changeSummary),
    );
  }

  destroy(): Promise<Ran> {
    return this.#run((options) =>
      this.#stack.destroy(options).then(({ summary }) => summary.resourceChanges),
    );
  }

  /** Outputs of the last update, as JSON. */
  async outputs(): Promise<string> {
    return JSON.stringify(await this.#stack.outputs());
  }

  /** The state as it is stored. */
  stateFile(): string {
    const file = `.pulumi/stacks/berth/${STACK}.json`;
    return readFileSync(new LabPaths(STACK, this.directory).at("state", file), "utf8");
  }

  /** Takes everything down; what was deployed goes with its directory. */
  close(): void {
    this.api.close();
    this.node.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #run(
    operation: (options: {
      onOutput: (text: string) => void;
      onError: (text: string) => void;
      onEvent: (event: EngineEvent) => void;
      diff: boolean;
      color: "never";
    }) => Promise<OpMap | undefined>,
  ): Promise<Ran> {
    const events: EngineEvent[] = [];
    let output = "";
    const add = (text: string) => {
      output += text;
    };
    try {
      const summary = await withoutStrays(() =>
        operation({
          onOutput: add,
          onError: add,
          onEvent: (event) => events.push(event),
          diff: true,
          color: "never",
        }),
      );
      return { steps: stepsOf(events), output, summary: summary ?? {} };
    } catch (error) {
      const diagnostics = events.map((event) => event.diagnosticEvent?.message ?? "").join("");
      throw new EngineFailure(`${output}\n${diagnostics}\n${String(error)}`, { cause: error });
    }
  }
}

/**
 * The SDK leaves a second, unhandled rejection behind when the program itself refuses to go on;
 * the test runner would count it as a failure of whichever test is next. Any other one still is.
 */
async function withoutStrays<T>(work: () => Promise<T>): Promise<T> {
  const event = "unhandledRejection";
  const listeners = process.listeners(event);
  const strays: unknown[] = [];
  process.removeAllListeners(event);
  process.on(event, (reason) => {
    if (!pulumi.RunError.isInstance(reason)) {
      strays.push(reason);
    }
  });
  try {
    return await work();
  } finally {
    await setImmediate();
    process.removeAllListeners(event);
    for (const listener of listeners) {
      process.on(event, listener);
    }
    assert.deepEqual(strays, []);
  }
}

function isSecret(value: unknown): boolean {
  return typeof value === "object" && value !== null && "secure" in value;
}

function stepsOf(events: readonly EngineEvent[]): Step[] {
  return events.flatMap((event): Step[] => {
    const metadata = event.resourcePreEvent?.metadata;
    if (metadata === undefined) {
      return [];
    }
    const state = metadata.new ?? metadata.old;
    return [
      {
        op: metadata.op,
        type: metadata.type,
        name: nameOf(metadata.urn),
        changed: Object.keys(metadata.detailedDiff ?? {}).sort(),
        parent: state?.parent ?? "",
        protect: state?.protect === true,
      },
    ];
  });
}

export function nameOf(urn: string): string {
  return urn.split("::").at(-1) ?? "";
}
