/** Text as Go's standard library writes it, since error texts are compared across providers. */

const ESCAPES: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

/** `%q` of Go's fmt. */
export function quote(text: string): string {
  const escaped = Array.from(text, (character) => {
    const known = ESCAPES[character];
    if (known !== undefined || /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) {
      return known ?? character;
    }
    const code = character.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    if (code < 0x80) {
      return `\\x${hex.padStart(2, "0")}`;
    }
    return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  });
  return `"${escaped.join("")}"`;
}

/** `strings.TrimSuffix(text, "\n")`. */
export function trimNewline(text: string): string {
  return text.endsWith("\n") ? text.slice(0, -1) : text;
}
