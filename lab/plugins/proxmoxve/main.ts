/** The lab's stand-in for the official Proxmox VE provider: `ContainerLegacy` alone. */

import type { Plugin } from "../plugin/plugin.ts";
import { serve } from "../plugin/serve.ts";
import { hasUnknown } from "../plugin/values.ts";
import { Client } from "./client.ts";
import { LegacyContainer } from "./legacy-container.ts";
import { checkConfig, clientSettings } from "./provider.ts";
import { CONTAINER_TYPE } from "./schema.ts";

let client: Client | undefined;

const plugin: Plugin = {
  name: "proxmoxve",
  version: "8.6.0",
  resources: {
    [CONTAINER_TYPE]: new LegacyContainer(() => {
      if (client === undefined) {
        throw new Error("the provider is not configured yet");
      }
      return client;
    }),
  },
  checkConfig,
  configure: (inputs) => {
    // In a preview the endpoint may be an output of something that does not exist yet.
    client = hasUnknown(inputs) ? undefined : new Client(clientSettings(inputs, process.env));
  },
};

await serve(plugin, process.argv.slice(2));
