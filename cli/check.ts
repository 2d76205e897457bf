import { Command } from "commander";

import { UserError } from "./errors.ts";
import { pythonTools } from "./python-tools.ts";
import { run } from "./process.ts";
import { ROOT } from "./root.ts";

const SHOWN = { cwd: ROOT, show: true } as const;

export interface Check {
  readonly name: string;
  readonly run: () => Promise<number>;
}

export function checkCommand(): Command {
  return new Command("check")
    .description("types, lint and format of the whole tree, as CI runs them")
    .action(async () => {
      const failed: string[] = [];
      for (const check of checks()) {
        process.stderr.write(`check: ${check.name}\n`);
        if ((await check.run()) !== 0) {
          failed.push(check.name);
        }
      }
      if (failed.length > 0) {
        throw new UserError(`failed: ${failed.join(", ")}`);
      }
    });
}

/** Every check of the tree; each is quick to name and stands alone. */
export function checks(): Check[] {
  const node = (script: string, ...args: string[]): (() => Promise<number>) => {
    return async () =>
      (await run(process.execPath, [`${ROOT}/node_modules/${script}`, ...args], SHOWN)).code;
  };
  const python = (tool: "ruff" | "mypy", ...args: string[]): (() => Promise<number>) => {
    return async () => (await run(`${await pythonTools()}/bin/${tool}`, args, SHOWN)).code;
  };
  return [
    { name: "types (tsc)", run: node("typescript/bin/tsc", "--noEmit") },
    { name: "lint (eslint)", run: node("eslint/bin/eslint.js", "--max-warnings", "0", ".") },
    {
      name: "format (prettier)",
      run: node("prettier/bin/prettier.cjs", "--check", "--log-level", "warn", "."),
    },
    { name: "Python lint (ruff)", run: python("ruff", "check", "--quiet", ".") },
    { name: "Python format (ruff)", run: python("ruff", "format", "--check", "--quiet", ".") },
    { name: "Python types (mypy)", run: python("mypy") },
  ];
}
