/** The program's inputs on their way to a container: coerced, checked, completed. */

import type { Checked } from "../plugin/plugin.ts";
import { checkInputs, isInternal, type Field, type Fields, type Type } from "../plugin/schema.ts";
import { isObject, plain, reveal, secret, type Properties, type Value } from "../plugin/values.ts";
import { CONTAINER_FIELDS } from "./schema.ts";

/** Where the official provider notes which inputs are not the program's own. */
const DEFAULTS = "__defaults";

export function checkContainer(inputs: Properties): Checked {
  const coerced = coerceFields(CONTAINER_FIELDS, inputs);
  return {
    inputs: noteDefaults(CONTAINER_FIELDS, coerced),
    failures: checkInputs(CONTAINER_FIELDS, coerced),
  };
}

/** Checked inputs in the clear with every default, as the provider plans with them. */
export function withDefaults(checked: Properties): Properties {
  return fillDefaults(CONTAINER_FIELDS, plain(checked));
}

/** A text where a number or a truth value is due, and the other way round, is turned into it. */
function coerce(type: Type, marked: Value): Value {
  const value = reveal(marked);
  const coerced = coercePlain(type, value);
  return coerced === value ? marked : value === marked ? coerced : secret(coerced);
}

function coercePlain(type: Type, value: Value): Value {
  if (type === "integer" || type === "number") {
    return typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  }
  if (type === "boolean") {
    return value === "true" || value === "false" ? value === "true" : value;
  }
  if (type === "string") {
    return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  }
  if (typeof type === "object" && "array" in type && Array.isArray(value)) {
    return value.map((element) => coerce(type.array, element));
  }
  if (typeof type === "object" && "object" in type && isObject(value)) {
    return coerceFields(type.object, value);
  }
  return value;
}

function coerceFields(fields: Fields, inputs: Properties): Properties {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [
      name,
      coerce(fields[name]?.type ?? "any", value),
    ]),
  );
}

// A default that is false, 0 or empty goes without saying.
function isNoted({ default: value, deprecated = false }: Field): boolean {
  return value !== undefined && !deprecated && value !== false && value !== 0 && value !== "";
}

function noteDefaults(fields: Fields, inputs: Properties): Properties {
  const noted: string[] = [];
  const result: Properties = { [DEFAULTS]: noted };
  for (const [name, value] of Object.entries(inputs)) {
    const field = fields[name];
    if (field !== undefined && reveal(value) !== null) {
      const inner = noteWithin(field.type, value);
      result[name] = field.secret === true ? secret(inner) : inner;
    }
  }
  for (const [name, field] of Object.entries(fields)) {
    if (result[name] === undefined && isNoted(field)) {
      result[name] = field.default ?? null;
      noted.push(name);
    }
  }
  noted.sort();
  return result;
}

function noteWithin(type: Type, marked: Value): Value {
  const value = reveal(marked);
  let result = value;
  if (typeof type === "object" && "array" in type && Array.isArray(value)) {
    result = value.map((element) => noteWithin(type.array, element));
  } else if (typeof type === "object" && "object" in type && isObject(value)) {
    result = noteDefaults(type.object, value);
  }
  return value === marked ? result : secret(result);
}

function fillDefaults(fields: Fields, inputs: Properties): Properties {
  const result: Properties = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = inputs[name] ?? null;
    const filled = value === null ? (field.default ?? null) : value;
    result[name] = fillWithin(field.type, filled);
  }
  return result;
}

function fillWithin(type: Type, value: Value): Value {
  if (typeof type === "object" && "array" in type && Array.isArray(value)) {
    return value.map((element) => fillWithin(type.array, element));
  }
  if (typeof type === "object" && "object" in type && isObject(value)) {
    return fillDefaults(type.object, value);
  }
  return value;
}

/**
 * The inputs that would give what was found: what the program sets, at its value now. A
 * description stays as it was written, since Proxmox gives it back with a newline.
 */
export function refreshedInputs(inputs: Properties, found: Properties): Properties {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => {
      const isKept = isInternal(name) || name === "description" || !(name in found);
      return [name, isKept ? value : refreshed(value, found[name] ?? null)];
    }),
  );
}

function refreshed(marked: Value, now: Value): Value {
  const value = reveal(marked);
  let result = now;
  if (isObject(value) && isObject(now)) {
    result = refreshedInputs(value, now);
  } else if (Array.isArray(value) && Array.isArray(now)) {
    result = now.map((element, index) => {
      const old = value[index];
      return old === undefined ? element : refreshed(old, element);
    });
  }
  return value === marked ? result : secret(result);
}
