import { z } from "zod";

import { parseAddress, parseCidr } from "./address.ts";
import { parseSize, parseSpan } from "./units.ts";

/** Leaves of the config: each error says the right form, each description is the editor's help. */

/** A string that `parse` turns into a value; undefined from it means "not in this form". */
function parsed<T>(form: string, parse: (text: string) => T | undefined, pattern?: RegExp) {
  const text = pattern ? z.string({ error: form }).regex(pattern, form) : z.string({ error: form });
  return text.transform((value, context): T => {
    const result = parse(value);
    if (result === undefined) {
      context.addIssue({ code: "custom", message: form, input: value });
      return z.NEVER;
    }
    return result;
  });
}

/** Bytes, written with an IEC unit; nothing at all only where `least` is 0. */
export function size(least: 0 | 1 = 1) {
  const above = least === 0 ? "" : " above 0";
  return parsed(`a size${above} with an IEC unit, such as 512MiB or 8GiB`, (text) => {
    const bytes = parseSize(text);
    return bytes === undefined || bytes < least ? undefined : bytes;
  }).describe("Size with an IEC unit (B, KiB, MiB, GiB, TiB)");
}

/** Seconds, written as a systemd time span. */
export const span = () =>
  parsed("a time span as systemd writes it, such as 90s, 15min or 1h 30min", parseSpan).describe(
    "Time span as systemd writes it",
  );

/** A whole number in a closed range. */
export function whole(min: number, max: number, what: string) {
  const form = `${what}: a whole number from ${String(min)} to ${String(max)}`;
  return z.int({ error: form }).min(min, form).max(max, form).describe(what);
}

/** A string that matches a pattern. */
export function matching(pattern: RegExp, form: string) {
  // One fault for one value: what follows is not asked about a value of another form.
  return z.string({ error: form }).regex(pattern, { error: form, abort: true }).describe(form);
}

export const address = () =>
  z
    .string({ error: "an IPv4 address, such as 192.168.1.10" })
    .refine((value) => parseAddress(value) !== undefined, "an IPv4 address, such as 192.168.1.10")
    .describe("IPv4 address");

export const cidr = () =>
  z
    .string({ error: "an IPv4 address with its prefix, such as 192.168.1.20/24" })
    .refine(
      (value) => parseCidr(value) !== undefined,
      "an IPv4 address with its prefix, such as 192.168.1.20/24",
    )
    .describe("IPv4 address with prefix length");

/** One line without control characters, so that no value can end a line of a unit or a config file. */
export function line(form: string, max = 255) {
  return z
    .string({ error: form })
    .min(1, form)
    .max(max, `${form}, at most ${String(max)} characters`)
    .regex(/^[^\u0000-\u001f\u007f]*$/, `${form}, on one line without control characters`)
    .describe(form);
}

/**
 * Agent, loop and node names are DNS labels, user names and parts of unit names at once, so the
 * narrowest rule holds: Proxmox refuses underscores, Linux user names end at 32 characters.
 */
export const NAME = /^[a-z]([a-z0-9-]{0,29}[a-z0-9])?$/;
export const NAME_FORM =
  "a name of 1 to 31 characters: a-z, 0-9 and -, a letter first, no - at the end";

/** Whether the data of a key begins with its own type: a key that was cut short does not. */
function isWholeKey(text: string): boolean {
  const [type = "", data = ""] = text.split(" ");
  const bytes = Buffer.from(data, "base64");
  let rest = 0;
  while (rest + 4 <= bytes.length) {
    rest += 4 + bytes.readUInt32BE(rest);
  }
  const named = bytes.subarray(4, 4 + (bytes.length >= 4 ? bytes.readUInt32BE(0) : 0)).toString();
  return named === type && rest === bytes.length;
}

/** A public key in one authorized_keys line, without options. */
export const publicKey = (what: string) =>
  matching(
    /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com) [A-Za-z0-9+/]+={0,2}( [^\u0000-\u001f\u007f]*)?$/,
    `${what}: one line as in a .pub file, such as "ssh-ed25519 AAAA... name"`,
  ).refine(isWholeKey, `${what}: the whole line of a .pub file; this one is cut short or changed`);

export const absolutePath = () =>
  matching(
    /^\/(?!.*\/\/)(?!.*(^|\/)\.{1,2}(\/|$))[^\u0000-\u001f\u007f]*[^/\u0000-\u001f\u007f]$/,
    "an absolute path without .., . or // and without a / at its end",
  );
