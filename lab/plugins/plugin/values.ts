/**
 * Property values as they cross the engine's protocol: JSON, with secrets and unknowns as
 * values of a special shape.
 */

export type Value = null | boolean | number | string | Value[] | { [key: string]: Value };
export type Properties = Record<string, Value>;

/** Stands for a value that is not known before the deployment runs. */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

const SIGNATURE_KEY = "4dabf18193072939515e22adb298388d";
const SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270";

export function isObject(value: Value | undefined): value is Properties {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isSecret(value: Value | undefined): value is Properties & { value: Value } {
  return isObject(value) && value[SIGNATURE_KEY] === SECRET_SIGNATURE;
}

export function secret(value: Value): Value {
  return isSecret(value) ? value : { [SIGNATURE_KEY]: SECRET_SIGNATURE, value };
}

/** The value below a secret mark at its top, if there is one; marks further down stay. */
export function reveal(value: Value): Value {
  return isSecret(value) ? reveal(value.value) : value;
}

/** The same value without any secret mark. */
export function plain<T extends Value>(value: T): T {
  return mapValue(value, reveal) as T;
}

export function isUnknown(value: Value | undefined): boolean {
  return value !== undefined && reveal(value) === UNKNOWN;
}

export function hasUnknown(value: Value | undefined): boolean {
  if (value === undefined) {
    return false;
  }
  const revealed = reveal(value);
  if (revealed === UNKNOWN) {
    return true;
  }
  return typeof revealed === "object" && revealed !== null
    ? Object.values(revealed).some(hasUnknown)
    : false;
}

/** Deep equality; a secret differs from the same value in the clear. */
export function equal(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b) {
    return true;
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((element, index) => equal(element, b[index]));
  }
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]))
    );
  }
  return false;
}

function mapValue(value: Value, change: (value: Value) => Value): Value {
  const changed = change(value);
  if (Array.isArray(changed)) {
    return changed.map((element) => mapValue(element, change));
  }
  if (isObject(changed)) {
    return Object.fromEntries(
      Object.entries(changed).map(([key, element]) => [key, mapValue(element, change)]),
    );
  }
  return changed;
}
