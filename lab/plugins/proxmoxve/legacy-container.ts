/** `proxmoxve:index/containerLegacy:ContainerLegacy`. */

import type { Diff } from "../plugin/diff.ts";
import {
  InitializationError,
  type Checked,
  type CreateRequest,
  type Created,
  type DeleteRequest,
  type DiffRequest,
  type Found,
  type ReadRequest,
  type ResourceType,
  type UpdateRequest,
} from "../plugin/plugin.ts";
import {
  isObject,
  isSecret,
  plain,
  secret,
  UNKNOWN,
  type Properties,
  type Value,
} from "../plugin/values.ts";
import type { Client } from "./client.ts";
import { asContainer } from "./container.ts";
import { Deadline } from "./deadline.ts";
import { changesOf, diffContainer, isWithin, plan, storedDescription } from "./diff.ts";
import { Guest } from "./guest.ts";
import { checkContainer, refreshedInputs, withDefaults } from "./inputs.ts";

const READ_SECONDS = 300;

export class LegacyContainer implements ResourceType {
  readonly #client: () => Client;

  /** The client is asked for when it is needed: the provider may be configured late. */
  constructor(client: () => Client) {
    this.#client = client;
  }

  check(inputs: Properties): Checked {
    return checkContainer(inputs);
  }

  diff({ state, inputs, ignoreChanges }: DiffRequest): Diff {
    return diffContainer(plain(state), withDefaults(inputs), ignoreChanges);
  }

  async create({ inputs, preview }: CreateRequest): Promise<Created> {
    const asked = withDefaults(inputs);
    if (preview) {
      return { id: "", outputs: marked(proposed(asked), inputs) };
    }
    const container = asContainer(asked);
    refuseUnsupported(asked);
    const deadline = new Deadline(container.timeoutCreate);
    const { nodeName: node } = container;
    const vmid = container.vmId ?? (await Guest.nextId(this.#client(), deadline));
    const guest = new Guest(this.#client(), node, vmid);
    await guest.create(container, deadline);
    const id = String(vmid);
    try {
      await guest.waitForUnlock(deadline);
      if (container.started && !container.template) {
        await guest.start(deadline);
      }
      const state = await guest.read({ ...asked, vmId: vmid }, deadline);
      return { id, outputs: marked(state, inputs) };
    } catch (error) {
      const outputs = marked({ ...asked, vmId: vmid }, inputs);
      throw new InitializationError(messageOf(error), id, outputs, { cause: error });
    }
  }

  async read({ id, state, inputs }: ReadRequest): Promise<Found> {
    const prior = plain(state);
    const { nodeName: node } = asContainer(prior);
    if (typeof node !== "string") {
      throw new Error("this stand-in cannot import a container");
    }
    const guest = new Guest(this.#client(), node, Number(id));
    const deadline = new Deadline(READ_SECONDS);
    const found = await guest.readIfThere(prior, deadline);
    return found === undefined
      ? undefined
      : { state: marked(found, state), inputs: refreshedInputs(inputs, found) };
  }

  async update(request: UpdateRequest): Promise<Properties> {
    const { id, inputs, ignoreChanges, preview } = request;
    const state = plain(request.state);
    const asked = withDefaults(inputs);
    const planned = plan(state, asked);
    const changes = Array.from(changesOf(state, planned, ignoreChanges).keys());
    const next = keepIgnored({ ...state, ...planned }, state, ignoreChanges);
    if (preview) {
      return marked(next, inputs);
    }
    // Asked for as it was written, without the newline that it will come back with.
    const container = asContainer({ ...next, description: asked["description"] ?? null });
    const deadline = new Deadline(container.timeoutUpdate);
    const guest = new Guest(this.#client(), container.nodeName, Number(id));
    const changed = (property: string): boolean =>
      changes.some((path) => isWithin(path, property) || isWithin(property, path));
    try {
      await guest.update(container, changed, deadline);
      return marked(await guest.read(next, deadline), inputs);
    } catch (error) {
      // As the official provider: what was asked for is taken for the state.
      throw new InitializationError(messageOf(error), id, marked(next, inputs), { cause: error });
    }
  }

  async delete({ id, state }: DeleteRequest): Promise<void> {
    const { nodeName, timeoutDelete } = asContainer(plain(state));
    const guest = new Guest(this.#client(), nodeName, Number(id));
    await guest.delete(timeoutDelete, new Deadline(timeoutDelete));
  }
}

/** The outputs of a container that is to be made. */
function proposed(asked: Properties): Properties {
  return {
    ...asked,
    description: storedDescription(asked["description"] ?? null),
    id: UNKNOWN,
    vmId: asked["vmId"] ?? UNKNOWN,
    ipv4: UNKNOWN,
    ipv6: UNKNOWN,
    cpu: unknownUnlessSet(asked["cpu"], "units"),
    disk: unknownUnlessSet(asked["disk"], "pathInDatastore"),
    networkInterfaces: Array.isArray(asked["networkInterfaces"])
      ? asked["networkInterfaces"].map((one) => unknownUnlessSet(one, "macAddress"))
      : [],
  };
}

function unknownUnlessSet(block: Value | undefined, field: string): Value {
  return isObject(block) ? { ...block, [field]: block[field] ?? UNKNOWN } : (block ?? null);
}

/** Properties that come from a secret, and the password, are secret. */
function marked(outputs: Properties, source: Properties): Properties {
  const result = completeSecrets(outputs);
  for (const [name, value] of Object.entries(source)) {
    if (isSecret(value) && result[name] !== undefined) {
      result[name] = secret(result[name]);
    }
  }
  return result;
}

function completeSecrets(outputs: Properties): Properties {
  const { initialization } = outputs;
  if (!isObject(initialization) || !isObject(initialization["userAccount"])) {
    return { ...outputs };
  }
  const { password, ...account } = initialization["userAccount"];
  return {
    ...outputs,
    initialization: {
      ...initialization,
      userAccount: {
        ...account,
        ...(typeof password === "string" && { password: secret(password) }),
      },
    },
  };
}

function keepIgnored(
  next: Properties,
  state: Properties,
  ignoreChanges: readonly string[],
): Properties {
  const kept = structuredClone(next);
  for (const path of ignoreChanges) {
    const parts = path.split(".");
    const last = parts.pop() ?? "";
    const target = descend(kept, parts);
    const old = descend(state, parts);
    if (target !== undefined) {
      target[last] = old?.[last] ?? null;
    }
  }
  return kept;
}

function descend(properties: Properties, parts: readonly string[]): Properties | undefined {
  let current: Value | undefined = properties;
  for (const part of parts) {
    current = isObject(current) ? current[part] : undefined;
  }
  return isObject(current) ? current : undefined;
}

function refuseUnsupported(asked: Properties): void {
  for (const name of ["clone", "idmaps"]) {
    const value = asked[name];
    if (value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)) {
      throw new Error(
        `this stand-in for the proxmoxve provider has no "${name}"; ` +
          "put the official plugin on PATH for it",
      );
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
