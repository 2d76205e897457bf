/** The engine's detailed diff between two property maps. */

import { equal, isObject, isSecret, type Properties, type Value } from "./values.ts";

export type ChangeKind = "add" | "delete" | "update";

export interface Change {
  readonly kind: ChangeKind;
  readonly replace: boolean;
}

export interface Diff {
  readonly changes: boolean;
  /** By property path: `stdin`, `triggers[0]`, `environment.PATH`. */
  readonly detailed: Readonly<Record<string, Change>>;
}

/** What changed, down to the leaves; a secret is one leaf whatever it holds. */
export function diffProperties(olds: Properties, news: Properties): Map<string, ChangeKind> {
  const changes = new Map<string, ChangeKind>();
  diffObjects("", olds, news, changes);
  return changes;
}

function diffObjects(
  prefix: string,
  olds: Properties,
  news: Properties,
  changes: Map<string, ChangeKind>,
): void {
  for (const key of new Set([...Object.keys(olds), ...Object.keys(news)])) {
    diffValues(propertyPath(prefix, key), olds[key], news[key], changes);
  }
}

function diffValues(
  path: string,
  old: Value | undefined,
  new_: Value | undefined,
  changes: Map<string, ChangeKind>,
): void {
  const absent = {
    old: old === undefined || old === null,
    new: new_ === undefined || new_ === null,
  };
  if (absent.old || absent.new) {
    if (absent.old !== absent.new) {
      changes.set(path, absent.old ? "add" : "delete");
    }
    return;
  }
  if (Array.isArray(old) && Array.isArray(new_)) {
    for (let index = 0; index < Math.max(old.length, new_.length); index += 1) {
      diffValues(`${path}[${String(index)}]`, old[index], new_[index], changes);
    }
  } else if (isObject(old) && isObject(new_) && !isSecret(old) && !isSecret(new_)) {
    diffObjects(path, old, new_, changes);
  } else if (!equal(old, new_)) {
    changes.set(path, "update");
  }
}

function propertyPath(prefix: string, key: string): string {
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) {
    return `${prefix}[${JSON.stringify(key)}]`;
  }
  return prefix === "" ? key : `${prefix}.${key}`;
}
