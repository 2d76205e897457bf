/** JSON with sorted keys and an indent, so that equal documents are equal bytes and diffs have lines. */
export function stableJson(value: unknown): string {
  return JSON.stringify(sorted(value), null, 1);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const entries = Object.entries(value as Record<string, unknown>);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
