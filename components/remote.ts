import * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";

import type { NodeConfig } from "./config/schema.ts";
import { stableJson } from "./render/json.ts";

/** The one place that makes a connection or a remote command. */

/** How the programs of a node are reached. */
export interface NodeConnection {
  readonly connection: pulumi.Input<command.types.input.remote.ConnectionArgs>;
  /** Whether the login user needs sudo to be root. */
  readonly sudo: boolean;
}

export interface NodeCommandArgs {
  readonly node: NodeConnection;
  /** Program and arguments; each is one word for the node's shell. */
  readonly program: readonly pulumi.Input<string>[];
  /** Program of the deletion; none: deleting the resource leaves the node alone. */
  readonly remove?: readonly string[];
  /** What the program reads on standard input. No secret: `pulumi preview --diff` shows its lines. */
  readonly document: Readonly<Record<string, unknown>>;
}

/** Connection to a node, its host key pinned. */
export function nodeConnection(
  node: NodeConfig,
  key: pulumi.Output<string> | undefined,
): NodeConnection {
  return {
    connection: {
      host: node.address,
      port: node.port,
      user: node.user,
      hostKey: node.hostKey.split(" ").slice(0, 2).join(" "),
      dialErrorLimit: 10,
      perDialTimeout: 15,
      ...(key === undefined ? {} : { privateKey: key }),
    },
    sudo: node.user !== "root",
  };
}

/**
 * One program on a node with one document on its standard input.
 *
 * The document is the stdin and never a trigger: a changed stdin updates in place, a changed trigger
 * replaces, and the late delete of a replacement would stop the machine that was just started.
 */
export function nodeCommand(
  name: string,
  args: NodeCommandArgs,
  opts: pulumi.CustomResourceOptions,
): command.remote.Command {
  const line = (program: readonly pulumi.Input<string>[]) =>
    pulumi
      .all([...(args.node.sudo ? ["sudo", "-n"] : []), ...program])
      .apply((words) => words.map(shellWord).join(" "));
  return new command.remote.Command(
    name,
    {
      connection: args.node.connection,
      create: line(args.program),
      ...(args.remove === undefined ? {} : { delete: line(args.remove) }),
      stdin: stableJson(args.document),
      // Stock sshd refuses these variables, with a warning at each update.
      addPreviousOutputInEnv: false,
      // Standard output is a result for the program; people get the progress on standard error.
      logging: command.remote.Logging.Stderr,
    },
    opts,
  );
}

/** One word for a POSIX shell that reads as exactly this text. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
