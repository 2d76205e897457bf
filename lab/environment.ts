import { delimiter, dirname } from "node:path";

import { QUIET_ENGINE, type Engine } from "./engine.ts";
import type { Identity } from "./machine/identity.ts";
import type { LabPaths } from "./paths.ts";
import type { Plugins } from "./plugins.ts";

/**
 * What the engine needs in its environment to work on the lab's stack: the official command line
 * with these variables and `berth lab up` do the same, on the same state.
 */
export function stackEnvironment(
  paths: LabPaths,
  identity: Pick<Identity, "passphraseFile" | "caBundleFile">,
  engine: Engine,
  plugins: Plugins,
  path = process.env["PATH"] ?? "",
): Record<string, string> {
  const first = [
    ...plugins.path,
    // The stand-ins and the program run on the Node that runs this.
    dirname(process.execPath),
    dirname(engine.program),
  ];
  const rest = path.split(delimiter).filter((dir) => !first.includes(dir));
  return {
    ...QUIET_ENGINE,
    PATH: [...first, ...rest].join(delimiter),
    BERTH_NODE: process.execPath,
    PULUMI_STACK: paths.name,
    PULUMI_BACKEND_URL: `file://${paths.at("state")}`,
    PULUMI_CONFIG_PASSPHRASE_FILE: identity.passphraseFile,
    // The system's authorities and the lab's: the provider checks the node's certificate.
    SSL_CERT_FILE: identity.caBundleFile,
  };
}

/** Lines for a shell that set these variables. */
export function shellExports(
  environment: Readonly<Record<string, string>>,
  quote: (text: string) => string,
): string {
  return Object.entries(environment)
    .map(([key, value]) => `export ${key}=${quote(value)}\n`)
    .join("");
}
