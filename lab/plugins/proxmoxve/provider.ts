/** The provider's configuration: where Proxmox is and how to get in. */

import type { Checked } from "../plugin/plugin.ts";
import { checkInputs, completeInputs } from "../plugin/schema.ts";
import { isUnknown, plain, reveal, type Properties, type Value } from "../plugin/values.ts";
import type { ClientSettings } from "./client.ts";
import { PROVIDER_FIELDS } from "./schema.ts";

/** The SDK hands over everything that is not a text as JSON in one. */
export function decodeConfig(inputs: Properties): Properties {
  const decoded: Properties = {};
  for (const [name, value] of Object.entries(inputs)) {
    const type = PROVIDER_FIELDS[name]?.type;
    const isText = type === "string" || (typeof type === "object" && "oneOf" in type);
    decoded[name] = type === undefined || isText ? value : decodeJson(value);
  }
  return decoded;
}

function decodeJson(value: Value): Value {
  const text = reveal(value);
  if (typeof text !== "string" || isUnknown(text)) {
    return value;
  }
  try {
    return JSON.parse(text) as Value;
  } catch {
    return value;
  }
}

export function checkConfig(inputs: Properties): Checked {
  const failures = checkInputs(PROVIDER_FIELDS, decodeConfig(inputs));
  return { inputs: completeInputs(PROVIDER_FIELDS, inputs), failures };
}

/** The settings of the client; what the program leaves out is taken from the environment. */
export function clientSettings(
  inputs: Properties,
  environment: Readonly<Record<string, string | undefined>>,
): ClientSettings {
  const config = plain(decodeConfig(inputs)) as {
    readonly endpoint?: string;
    readonly apiToken?: string;
    readonly insecure?: boolean;
    readonly minTls?: string;
  };
  const endpoint = config.endpoint ?? environment["PROXMOX_VE_ENDPOINT"] ?? "";
  const apiToken = config.apiToken ?? environment["PROXMOX_VE_API_TOKEN"] ?? "";
  const insecure =
    config.insecure ?? ["true", "1"].includes(environment["PROXMOX_VE_INSECURE"] ?? "");
  if (!URL.canParse(endpoint) || new URL(endpoint).protocol !== "https:") {
    throw new Error(
      "you must specify a secure endpoint for the Proxmox Virtual Environment API " +
        "(valid: https://host:port/)",
    );
  }
  if (apiToken === "") {
    throw new Error("this stand-in authenticates with an API token: set `apiToken`");
  }
  return { endpoint, apiToken, insecure, minTls: config.minTls ?? "1.3" };
}
