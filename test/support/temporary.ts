import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory of the running test file, removed when its process ends, however the tests went. */
export function temporaryDirectory(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), `berth-${name}-`));
  process.on("exit", () => {
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}
