import assert from "node:assert/strict";
import { test } from "node:test";

import { execArgument, literal, unitFile } from "./unit-file.ts";

test("a unit file has its comment first and one directive a line, in their order", () => {
  assert.equal(
    unitFile("Why it is here.", [
      ["Unit", [["Description", "x"]]],
      [
        "Service",
        [
          ["Type", "notify"],
          ["RuntimeMaxSec", 60],
        ],
      ],
    ]),
    "# Why it is here.\n[Unit]\nDescription=x\n\n[Service]\nType=notify\nRuntimeMaxSec=60\n",
  );
});

test("a value that would begin a line of its own is refused", () => {
  for (const value of ["a\nExecStart=/bin/sh", "a\rb", "a\0b"]) {
    assert.throws(() => unitFile("x", [["Unit", [["Description", value]]]]), RangeError);
  }
});

const C_ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/**
 * The arguments that systemd would run for the text after `ExecStart=`: words with quotes and C
 * escapes, then specifiers, then variables (systemd.service(5), "Command lines").
 */
function argumentsOf(line: string): string[] {
  const words: string[] = [];
  for (const match of line.matchAll(/"((?:[^"\\]|\\.)*)"|([^\s"'\\]+)/gs)) {
    const raw = match[1] ?? match[2] ?? "";
    const unescaped = raw.replaceAll(/\\(.)/gs, (whole, letter: string) => {
      return C_ESCAPES[letter] ?? (letter === "\\" || letter === '"' ? letter : assert.fail(whole));
    });
    const specified = unescaped.replaceAll(/%(.?)/gs, (whole, letter: string) =>
      letter === "%" ? "%" : assert.fail(`specifier ${whole}`),
    );
    words.push(
      specified.replaceAll(/\$(.?)/gs, (whole, letter: string) =>
        letter === "$" ? "$" : assert.fail(`variable ${whole}`),
      ),
    );
  }
  return words;
}

const ARGUMENTS = [
  'ab%s9%41$x"y\\z #k',
  "100%",
  "%%",
  "$HOME",
  "${HOME}",
  "$$",
  "it's",
  "",
  " ",
  ";",
  "a;b",
  "#comment",
  "back\\",
  "\\n",
  "line\nline\r\ttab",
  "[Service]",
  "böb ✓",
  "/usr/bin/env",
  "--option=value,other",
];

test("an argument reaches the program byte by byte through systemd's own reading", () => {
  assert.deepEqual(argumentsOf(ARGUMENTS.map(execArgument).join(" ")), ARGUMENTS);
  for (const argument of ARGUMENTS) {
    assert.doesNotMatch(execArgument(argument), /[\n\r]/);
  }
});

test("a plain argument is not quoted, so that a preview reads well", () => {
  assert.equal(execArgument("/usr/local/bin/berth"), "/usr/local/bin/berth");
  assert.equal(execArgument("--kind"), "--kind");
});

test("a description keeps its per-cent signs", () => {
  assert.equal(literal("ab%s9%41$x"), "ab%%s9%%41$x");
});
