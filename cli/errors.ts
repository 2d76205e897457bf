/** An error for the person at the keyboard: its message is shown, its stack is not. */
export class UserError extends Error {
  /** What to do about it, on a line of its own. */
  readonly hint: string | undefined;
  /** Exit code of the command, from sysexits.h where one fits. */
  readonly exitCode: number;

  constructor(
    message: string,
    options: { hint?: string; exitCode?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "UserError";
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? 1;
  }
}
