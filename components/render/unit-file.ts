/** systemd unit files as text: sections in order, one directive a line, values that stay themselves. */

export type Directive = readonly [key: string, value: string | number];
export type Section = readonly [name: string, directives: readonly Directive[]];

/**
 * The text of a unit file.
 *
 * @throws RangeError when a value would end its line: nothing that reaches here may hold a newline.
 */
export function unitFile(comment: string, sections: readonly Section[]): string {
  const body = sections.map(([name, directives]) =>
    [`[${name}]`, ...directives.map(([key, value]) => `${key}=${oneLine(String(value))}`)].join(
      "\n",
    ),
  );
  return `# ${oneLine(comment)}\n${body.join("\n\n")}\n`;
}

/** Text for a directive that takes it literally, such as Description=: only specifiers are at stake. */
export function literal(text: string): string {
  return text.replaceAll("%", "%%");
}

/**
 * One argument of ExecStart=, quoted so that the program gets exactly these bytes: systemd would
 * read `%` as a specifier, `$` as a variable, and quotes, backslashes and blanks as syntax.
 */
export function execArgument(argument: string): string {
  if (/^[A-Za-z0-9_./:=@+,-]+$/.test(argument)) {
    return argument;
  }
  const escaped = argument
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t");
  return `"${escaped}"`;
}

function oneLine(text: string): string {
  if (/[\n\r\0]/.test(text)) {
    throw new RangeError(`a unit file's value on more than one line: ${JSON.stringify(text)}`);
  }
  return text;
}
