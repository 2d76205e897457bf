import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Command } from "commander";

import { UserError } from "./errors.ts";
import { ROOT } from "./root.ts";

/** One measured figure against its goal. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Most that is wanted; null where none is set. */
  readonly goal: number | null;
  /** null where there is no goal. */
  readonly met: boolean | null;
}

export type Measure = () => Promise<readonly Omit<Figure, "goal" | "met">[]>;

const BENCHES: Readonly<Record<string, () => Promise<{ measure: Measure }>>> = {
  preview: () => import("../bench/preview.ts"),
};

export function benchCommand(): Command {
  return new Command("bench")
    .description("measure; prints each figure with its goal and never fails")
    .argument("[name]", `one of: ${Object.keys(BENCHES).join(", ")} (default: all)`)
    .option("--json", "print [{name, value, unit, goal, met}]")
    .action(async (name: string | undefined, options: { json?: boolean }) => {
      if (name !== undefined && !Object.hasOwn(BENCHES, name)) {
        throw new UserError(`no bench "${name}"`, {
          hint: `There are: ${Object.keys(BENCHES).join(", ")}.`,
          exitCode: 64,
        });
      }
      const goals = JSON.parse(readFileSync(join(ROOT, "bench/goals.json"), "utf8")) as Record<
        string,
        number
      >;
      const figures: Figure[] = [];
      for (const [bench, load] of Object.entries(BENCHES)) {
        if (name === undefined || name === bench) {
          const { measure } = await load();
          figures.push(...(await measure()).map((figure) => against(figure, goals[figure.name])));
        }
      }
      process.stdout.write(options.json === true ? `${JSON.stringify(figures)}\n` : table(figures));
    });
}

function against(figure: Omit<Figure, "goal" | "met">, goal: number | undefined): Figure {
  return goal === undefined
    ? { ...figure, goal: null, met: null }
    : { ...figure, goal, met: figure.value <= goal };
}

function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    `${String(figure.value)} ${figure.unit}`,
    figure.goal === null ? "" : `goal ${String(figure.goal)}`,
    figure.met === null ? "" : figure.met ? "met" : "NOT MET",
  ]);
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}
