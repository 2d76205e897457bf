/** The lab's stand-in for the official command provider: `command:remote:Command` alone. */

import type { Plugin } from "../plugin/plugin.ts";
import { serve } from "../plugin/serve.ts";
import { RemoteCommand } from "./remote-command.ts";

const plugin: Plugin = {
  name: "command",
  version: "1.2.1",
  resources: { "command:remote:Command": new RemoteCommand() },
  checkConfig: (inputs) => ({ inputs, failures: [] }),
  configure: () => undefined,
};

await serve(plugin, process.argv.slice(2));
