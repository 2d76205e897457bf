import { z } from "zod";

import { fleetSchema, SECRET_KEYS } from "./schema.ts";

/** JSON Schema of a whole stack file, so that an editor completes and checks it while it is written. */
export function stackFileSchema(): Record<string, unknown> {
  const fleet = z.toJSONSchema(fleetSchema, { io: "input" }) as {
    properties: Record<string, unknown>;
    required: string[];
  };
  const secret = {
    description: "Set by `pulumi config set --secret`",
    type: "object",
    properties: { secure: { type: "string" } },
    required: ["secure"],
    additionalProperties: false,
  };
  const properties = {
    ...Object.fromEntries(
      Object.entries(fleet.properties).map(([key, schema]) => [`berth:${key}`, schema]),
    ),
    ...Object.fromEntries(SECRET_KEYS.map((key) => [`berth:${key}`, secret])),
  };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Stack file of Berth (Pulumi.<stack>.yaml)",
    type: "object",
    properties: {
      config: {
        type: "object",
        properties,
        required: fleet.required.map((key) => `berth:${key}`),
        // Keys of other namespaces, such as pulumi:tags, are the engine's.
        patternProperties: { "^(?!berth:)": {} },
        additionalProperties: false,
      },
    },
    required: ["config"],
  };
}
