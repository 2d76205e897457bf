/** What changes between a container's state and what the program asks for. */

import { diffProperties, type ChangeKind, type Diff } from "../plugin/diff.ts";
import type { Fields, Type } from "../plugin/schema.ts";
import { equal, isObject, isUnknown, type Properties, type Value } from "../plugin/values.ts";
import { CONTAINER_FIELDS } from "./schema.ts";

/**
 * The state that the program asks for: its inputs, and from the old state what only Proxmox
 * knows or what differs in notation alone.
 */
export function plan(state: Properties, inputs: Properties): Properties {
  const planned: Properties = { ...inputs };
  planned["description"] = storedDescription(inputs["description"] ?? null);
  for (const computed of ["id", "vmId", "ipv4", "ipv6"]) {
    planned[computed] = inputs[computed] ?? state[computed] ?? null;
  }
  if (sameMembers(state["tags"], inputs["tags"])) {
    planned["tags"] = state["tags"] ?? null;
  }
  if (planned["template"] === true) {
    planned["started"] = state["started"] ?? null;
  }
  planned["cpu"] = keep(state["cpu"], inputs["cpu"], ["units"]);
  planned["disk"] = keep(state["disk"], inputs["disk"], ["pathInDatastore"]);
  if (isObject(planned["disk"]) && isObject(state["disk"])) {
    const { mountOptions } = state["disk"];
    if (sameMembers(mountOptions, planned["disk"]["mountOptions"])) {
      planned["disk"]["mountOptions"] = mountOptions ?? null;
    }
  }
  planned["networkInterfaces"] = keepEach(
    state["networkInterfaces"],
    inputs["networkInterfaces"],
    (old, asked) => keep(old, asked, ["macAddress"]),
  );
  planned["mountPoints"] = keepEach(state["mountPoints"], inputs["mountPoints"], keepMountPoint);
  return planned;
}

/** The changes from the state to the plan, by path, without what shall be ignored. */
export function changesOf(
  state: Properties,
  planned: Properties,
  ignored: readonly string[],
): Map<string, ChangeKind> {
  const changes = diffProperties(withoutEmpty(state), withoutEmpty(planned));
  for (const path of changes.keys()) {
    if (ignored.some((prefix) => isWithin(path, prefix))) {
      changes.delete(path);
    }
  }
  return changes;
}

export function diffContainer(
  state: Properties,
  inputs: Properties,
  ignored: readonly string[],
): Diff {
  const changes = changesOf(state, plan(state, inputs), ignored);
  return {
    changes: changes.size > 0,
    detailed: Object.fromEntries(
      Array.from(changes, ([path, kind]) => [path, { kind, replace: replaces(path) }]),
    ),
  };
}

/** Whether a path lies at or below a property: `memory.swap` below `memory`. */
export function isWithin(path: string, property: string): boolean {
  return path === property || path.startsWith(`${property}.`) || path.startsWith(`${property}[`);
}

/**
 * Whether a change at the path makes another container. An element of a list counts as the list
 * where the list as such is what cannot change.
 */
export function replaces(path: string): boolean {
  let type: Type = { object: CONTAINER_FIELDS };
  let replace = false;
  for (const part of path.match(/[^.[\]]+/g) ?? []) {
    if (typeof type === "object" && "array" in type) {
      type = type.array;
    } else if (typeof type === "object" && "object" in type) {
      const field: Fields[string] | undefined = type.object[part];
      replace = field?.replaces ?? false;
      type = field?.type ?? "any";
    }
  }
  return replace;
}

/** As Proxmox gives it back: without space around it, and with a newline. */
export function storedDescription(description: Value): Value {
  if (typeof description !== "string" || description === "" || isUnknown(description)) {
    return description;
  }
  return `${description.trim().replaceAll("\r\n", "\n")}\n`;
}

function sameMembers(a: Value | undefined, b: Value | undefined): boolean {
  return Array.isArray(a) && Array.isArray(b) && equal(a.map(String).sort(), b.map(String).sort());
}

/** The object asked for, with fields that it leaves out as they were. */
function keep(old: Value | undefined, asked: Value | undefined, fields: readonly string[]): Value {
  if (!isObject(asked) || !isObject(old)) {
    return asked ?? null;
  }
  const kept = { ...asked };
  for (const field of fields) {
    kept[field] = (kept[field] ?? "") === "" ? (old[field] ?? null) : (kept[field] ?? null);
  }
  return kept;
}

function keepEach(
  olds: Value | undefined,
  asked: Value | undefined,
  keepOne: (old: Value | undefined, asked: Value) => Value,
): Value {
  if (!Array.isArray(asked)) {
    return asked ?? null;
  }
  return asked.map((one, index) => keepOne(Array.isArray(olds) ? olds[index] : undefined, one));
}

// Proxmox answers with the volume that it made where only a datastore was asked for, and with a
// path without its slash.
function keepMountPoint(old: Value | undefined, asked: Value): Value {
  const kept = keep(old, asked, ["pathInDatastore"]);
  if (isObject(old) && isObject(kept)) {
    const { path, volume } = kept;
    if (typeof old["path"] === "string" && path === `/${old["path"]}`) {
      kept["path"] = old["path"];
    }
    const [datastore = ""] = typeof volume === "string" ? volume.split(":") : [];
    if (typeof old["volume"] === "string" && old["volume"].startsWith(`${datastore}:`)) {
      kept["volume"] = old["volume"];
    }
  }
  return kept;
}

// The official provider cannot tell an empty value from none.
function withoutEmpty(properties: Properties): Properties {
  return Object.fromEntries(
    Object.entries(properties)
      .map(([name, value]): [string, Value] => [name, pruned(value)])
      .filter(([, value]) => !isEmpty(value)),
  );
}

function pruned(value: Value): Value {
  if (Array.isArray(value)) {
    return value.map(pruned);
  }
  return isObject(value) ? withoutEmpty(value) : value;
}

function isEmpty(value: Value): boolean {
  return (
    value === null ||
    value === "" ||
    (Array.isArray(value) && value.length === 0) ||
    (isObject(value) && Object.keys(value).length === 0)
  );
}
