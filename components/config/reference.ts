import { stackFileSchema } from "./json-schema.ts";

/** docs/config.md: every key of the config, made from the schema so that it cannot fall behind. */

interface Schema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Row {
  readonly key: string;
  readonly form: string;
  readonly meaning: string;
}

export function configReference(): string {
  const root = stackFileSchema() as { properties: { config: Schema } };
  const sections = Object.entries(root.properties.config.properties ?? {}).map(([key, schema]) => {
    const own = schema.description === undefined ? "" : `${schema.description}.\n\n`;
    const rows = rowsOf(schema, "");
    return `## ${key}\n\n${own}${rows.length === 0 ? "" : table(rows)}`.trimEnd();
  });
  return [
    "# Every key of the config",
    "",
    "Made from the schema by `./berth config reference`; the schema itself, for editors, is printed by",
    "`./berth config schema`. A key without a default must be given. `<name>` stands for a name of your",
    "own. Sizes are strings with an IEC unit (`8GiB`), spans of time are written as systemd does (`1h 30min`).",
    "",
    sections.join("\n\n"),
    "",
  ].join("\n");
}

function rowsOf(schema: Schema, path: string): Row[] {
  const children = Object.entries(schema.properties ?? {}).map(([key, child]) => ({
    key,
    child,
    required: schema.required?.includes(key) === true,
  }));
  if (typeof schema.additionalProperties === "object") {
    children.push({ key: "`<name>`", child: schema.additionalProperties, required: false });
  }
  return children.flatMap(({ key, child, required }) => {
    const full = path === "" ? key : `${path}.${key}`;
    const inner = rowsOf(child, full);
    return inner.length > 0
      ? inner
      : [{ key: full, form: form(child), meaning: meaning(child, required) }];
  });
}

function form(schema: Schema): string {
  if (schema.enum) {
    return schema.enum.map((value) => `\`${String(value)}\``).join(", ");
  }
  if (schema.items) {
    return `list of ${form(schema.items)}`;
  }
  if (schema.anyOf?.[0]) {
    return form(schema.anyOf[0]);
  }
  const range =
    schema.minimum !== undefined && schema.maximum !== undefined
      ? ` ${String(schema.minimum)} to ${String(schema.maximum)}`
      : "";
  return `${String(schema.type ?? "any")}${range}`;
}

function meaning(schema: Schema, required: boolean): string {
  const text = schema.description ?? schema.items?.description ?? "";
  const saysDefault = /default:/i.test(text);
  const ending =
    required && schema.default === undefined
      ? " **Required.**"
      : schema.default !== undefined && !saysDefault
        ? ` Default: \`${JSON.stringify(schema.default)}\``
        : "";
  return `${text}${text === "" || text.endsWith(".") ? "" : "."}${ending}`.trim();
}

function table(rows: readonly Row[]): string {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  const lines = rows.map(
    (row) => `| ${code(row.key)} | ${cell(row.form)} | ${cell(row.meaning)} |`,
  );
  return ["| key | form | meaning |", "| --- | --- | --- |", ...lines].join("\n");
}

function code(key: string): string {
  return `\`${key.replaceAll("`", "")}\``;
}
