/** Strict checking of a resource's inputs against a schema, as the official providers do it. */

import { isObject, isUnknown, reveal, secret, type Properties, type Value } from "./values.ts";

export type Type =
  | "any"
  | "boolean"
  | "integer"
  | "number"
  | "string"
  | { readonly oneOf: readonly string[] }
  | { readonly array: Type }
  | { readonly map: Type }
  | { readonly object: Fields };

export interface Field {
  readonly type: Type;
  readonly required?: boolean;
  readonly secret?: boolean;
  /** What Check fills in when the program says nothing. */
  readonly default?: Value;
  /** The least and the greatest number. */
  readonly range?: readonly [number, number];
  /** What a text has to look like, and how to say so. */
  readonly form?: { readonly pattern: RegExp; readonly reason: string };
  /** A change of this makes another resource. */
  readonly replaces?: boolean;
  /** Its default is not written into the inputs. */
  readonly deprecated?: boolean;
}

export type Fields = Readonly<Record<string, Field>>;

export interface Failure {
  readonly property: string;
  readonly reason: string;
}

/** Every fault of the inputs: unknown names, missing ones, wrong types. Values are not quoted. */
export function checkInputs(fields: Fields, inputs: Properties, prefix = ""): Failure[] {
  const failures: Failure[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const value = inputs[name];
    if (value === undefined || reveal(value) === null) {
      if (field.required === true) {
        failures.push({
          property: prefix + name,
          reason: `missing required property "${prefix}${name}"`,
        });
      }
    } else {
      failures.push(...checkValue(field.type, value, prefix + name));
      failures.push(...checkLimits(field, value, prefix + name));
    }
  }
  for (const name of Object.keys(inputs)) {
    if (!Object.hasOwn(fields, name) && !isInternal(name)) {
      failures.push({
        property: prefix + name,
        reason: `unrecognized property "${prefix}${name}"`,
      });
    }
  }
  return failures;
}

/** The engine adds properties of its own, which no schema names. */
export function isInternal(name: string): boolean {
  return name === "version" || name.startsWith("__");
}

function checkValue(type: Type, marked: Value, path: string): Failure[] {
  if (type === "any" || isUnknown(marked)) {
    return [];
  }
  const value = reveal(marked);
  if (typeof type === "object") {
    if ("oneOf" in type) {
      return typeof value === "string" && type.oneOf.includes(value)
        ? []
        : [{ property: path, reason: `"${path}" must be one of ${type.oneOf.join(", ")}` }];
    }
    if ("array" in type) {
      return Array.isArray(value)
        ? value.flatMap((element, index) =>
            checkValue(type.array, element, `${path}[${String(index)}]`),
          )
        : [wrongType(path, "an array")];
    }
    if (!isObject(value)) {
      return [wrongType(path, "an object")];
    }
    return "map" in type
      ? Object.entries(value).flatMap(([key, element]) =>
          checkValue(type.map, element, `${path}.${key}`),
        )
      : checkInputs(type.object, value, `${path}.`);
  }
  if (type === "integer") {
    return Number.isSafeInteger(value) ? [] : [wrongType(path, "an integer")];
  }
  return typeof value === type ? [] : [wrongType(path, `a ${type}`)];
}

function checkLimits({ range, form }: Field, marked: Value, path: string): Failure[] {
  const value = reveal(marked);
  if (range !== undefined && typeof value === "number") {
    const [least, greatest] = range;
    if (value < least || value > greatest) {
      return [
        {
          property: path,
          reason: `"${path}" must be between ${String(least)} and ${String(greatest)}`,
        },
      ];
    }
  }
  if (form !== undefined && typeof value === "string" && !isUnknown(value)) {
    return form.pattern.test(value) ? [] : [{ property: path, reason: `"${path}" ${form.reason}` }];
  }
  return [];
}

function wrongType(path: string, expected: string): Failure {
  return { property: path, reason: `"${path}" must be ${expected}` };
}

/** The inputs with defaults filled in and secret fields marked. */
export function completeInputs(fields: Fields, inputs: Properties): Properties {
  const completed: Properties = {};
  for (const [name, value] of Object.entries(inputs)) {
    if (reveal(value) === null || isInternal(name)) {
      continue;
    }
    const field = fields[name];
    const inner = field === undefined ? value : completeValue(field.type, value);
    completed[name] = field?.secret === true ? secret(inner) : inner;
  }
  for (const [name, field] of Object.entries(fields)) {
    if (field.default !== undefined && completed[name] === undefined) {
      completed[name] = field.default;
    }
  }
  return completed;
}

function completeValue(type: Type, marked: Value): Value {
  const value = reveal(marked);
  const completed = complete(type, value);
  return value === marked ? completed : secret(completed);
}

function complete(type: Type, value: Value): Value {
  if (typeof type !== "object") {
    return value;
  }
  if ("array" in type && Array.isArray(value)) {
    return value.map((element) => completeValue(type.array, element));
  }
  if ("object" in type && isObject(value)) {
    return completeInputs(type.object, value);
  }
  return value;
}
