import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { UserError } from "./errors.ts";
import { run } from "./process.ts";
import { ROOT } from "./root.ts";
import { cacheDir } from "../lab/paths.ts";

/** Directory of a virtual environment with the pinned tools of requirements-dev.txt; made once. */
export async function pythonTools(): Promise<string> {
  const requirements = readFileSync(join(ROOT, "requirements-dev.txt"), "utf8");
  const venv = join(cacheDir(), "python-tools");
  const stamp = join(venv, "requirements-dev.txt");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === requirements) {
    return venv;
  }
  process.stderr.write("installing the Python tools (ruff, mypy) from PyPI\n");
  rmSync(venv, { recursive: true, force: true });
  mkdirSync(venv, { recursive: true });
  // --without-pip: Debian keeps ensurepip in a package of its own; pip installs into it from outside.
  const steps: [string, string[]][] = [
    ["python3", ["-m", "venv", "--without-pip", venv]],
    [
      "python3",
      [
        "-m",
        "pip",
        "--python",
        join(venv, "bin", "python3"),
        "install",
        "--quiet",
        "--require-hashes",
        "-r",
        join(ROOT, "requirements-dev.txt"),
      ],
    ],
  ];
  for (const [program, args] of steps) {
    if ((await run(program, args, { show: true })).code !== 0) {
      throw new UserError("could not install the Python tools", {
        hint: "They need python3 with pip (Debian: apt-get install python3-pip), and PyPI.",
      });
    }
  }
  writeFileSync(stamp, requirements);
  return venv;
}
