/** A fleet document as the keys and texts that the engine hands to a program. */

import type { Document } from "./fleet.ts";

export interface StackConfig {
  readonly values: Record<string, string>;
  readonly secretKeys: string[];
}

export function stackConfig(document: Document, secrets: Record<string, string>): StackConfig {
  const values = Object.entries(document)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [`berth:${key}`, JSON.stringify(value)]);
  const secretKeys = Object.keys(secrets).map((key) => `berth:${key}`);
  return {
    values: Object.fromEntries([
      ...values,
      ...Object.entries(secrets).map(([key, value]) => [`berth:${key}`, value]),
    ]) as Record<string, string>,
    secretKeys,
  };
}
