import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The programs under scripts/, as a document that a node installs under their hash. */

const SCRIPTS = fileURLToPath(new URL("../scripts", import.meta.url));
const HASH_LENGTH = 12;

export interface Runtime {
  /** Hash of the node's programs: the name of their directory on the node. */
  readonly nodeHash: string;
  /** Hash of the guests' programs: the name of their directory in every guest. */
  readonly guestHash: string;
  /** Files by path, such as `node/apply.py`. */
  readonly files: Readonly<Record<string, RuntimeFile>>;
}

export interface RuntimeFile {
  /** Four octal digits. */
  readonly mode: string;
  readonly content: string;
}

/** Reads the runtime from `scripts/`; tests and caches stay behind. */
export function readRuntime(root: string = SCRIPTS): Runtime {
  const node = readTree(root, "node");
  const guest = readTree(root, "guest");
  return { nodeHash: hashOf(node), guestHash: hashOf(guest), files: { ...node, ...guest } };
}

function readTree(root: string, part: string): Record<string, RuntimeFile> {
  const entries = readdirSync(join(root, part), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => relative(root, path).split(sep).every(isShipped))
    .sort()
    .map((path): [string, RuntimeFile] => [
      relative(root, path),
      // Only the executable bit of git's two modes counts: a checkout's umask must not change the hash.
      {
        mode: statSync(path).mode & 0o100 ? "0755" : "0644",
        content: readFileSync(path, "utf8"),
      },
    ]);
  return Object.fromEntries(entries);
}

/** Whether a file or folder of this name belongs to the runtime: tools leave caches beside it. */
function isShipped(name: string): boolean {
  return (
    !name.startsWith(".") &&
    !name.startsWith("test_") &&
    !name.endsWith(".pyc") &&
    name !== "__pycache__"
  );
}

function hashOf(files: Readonly<Record<string, RuntimeFile>>): string {
  const hash = createHash("sha256");
  for (const [path, file] of Object.entries(files)) {
    hash.update(
      `${path}\0${file.mode}\0${String(Buffer.byteLength(file.content))}\0${file.content}`,
    );
  }
  return hash.digest("hex").slice(0, HASH_LENGTH);
}
