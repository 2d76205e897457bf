import { homedir } from "node:os";
import { join } from "node:path";

import { UserError } from "../cli/errors.ts";
import { ROOT } from "../cli/root.ts";

/** Where the lab keeps things: what costs time in the cache, what is this lab's in its state. */

/** Cache shared by all checkouts: engine, images, Node. Everything in it can be made again. */
export function cacheDir(env: NodeJS.ProcessEnv = process.env): string {
  return (
    nonEmpty(env["BERTH_CACHE"]) ??
    join(nonEmpty(env["XDG_CACHE_HOME"]) ?? join(homedir(), ".cache"), "berth")
  );
}

/** Files of one lab. The directory is private: it holds keys, a token and the passphrase. */
export class LabPaths {
  readonly name: string;
  /** Directory of all that belongs to this lab; destroying the lab removes it. */
  readonly dir: string;

  constructor(name: string, root: string = ROOT) {
    // The name is the stack's too, part of a Proxmox tag and of paths. Its beginning keeps a lab from
    // ever taking another stack's file, such as Pulumi.prod.yaml.
    if (!/^lab(-[a-z0-9][a-z0-9-]{0,26})?$/.test(name)) {
      throw new UserError(`"${name}" is not a name for a lab`, {
        hint: "lab, or lab- and then a-z, 0-9 and -, such as lab-2; at most 31 characters",
        exitCode: 64,
      });
    }
    this.name = name;
    this.dir = join(root, ".lab", name);
    this.stackFile = join(root, `Pulumi.${name}.yaml`);
  }

  /** Config of the lab's stack, where the engine expects it. */
  readonly stackFile: string;

  /** A file or directory inside the lab's directory. */
  at(...parts: readonly string[]): string {
    return join(this.dir, ...parts);
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
