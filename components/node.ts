import * as pulumi from "@pulumi/pulumi";

import type { NodeConfig } from "./config/schema.ts";
import { nodeCommand, type NodeConnection } from "./remote.ts";
import type { Runtime } from "./runtime.ts";

/** Reads the installer out of the document on standard input and runs it: the node has nothing of ours yet. */
const BOOTSTRAP =
  'import json,sys;d=json.load(sys.stdin);exec(compile(d["files"]["node/install.py"]["content"],' +
  '"install.py","exec"),{"__name__":"__main__","DOCUMENT":d})';

export interface NodeArgs {
  readonly config: NodeConfig;
  readonly connection: NodeConnection;
  /** The programs that the node and its guests run. */
  readonly runtime: Runtime;
  /** Name of the stack, the owner of what is made on the node. */
  readonly stack: string;
}

/** What one Proxmox node needs once: the programs, the parent dataset of the homes, the template. */
export class Node extends pulumi.ComponentResource {
  readonly name: string;
  readonly config: NodeConfig;
  readonly connection: NodeConnection;
  readonly runtime: Runtime;
  /** Directory of the node's programs; there once this component's resources are. */
  readonly programs: string;

  constructor(name: string, args: NodeArgs, opts: pulumi.ComponentResourceOptions = {}) {
    super("berth:index:Node", name, {}, opts);
    nodeCommand(
      name,
      {
        node: args.connection,
        program: ["python3", "-c", BOOTSTRAP],
        document: {
          node: name,
          stack: args.stack,
          pool: args.config.pool,
          template: args.config.template,
          ...args.runtime,
        },
      },
      { parent: this },
    );
    this.name = name;
    this.config = args.config;
    this.connection = args.connection;
    this.runtime = args.runtime;
    this.programs = `/var/lib/berth/node/${args.runtime.nodeHash}`;
    this.registerOutputs({ programs: this.programs });
  }
}
