import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { run as runNodeTests } from "node:test";
import { spec } from "node:test/reporters";

import { Command } from "commander";

import { checks } from "./check.ts";
import { UserError } from "./errors.ts";
import { prepareHost } from "../lab/host.ts";
import { createProgress } from "../lab/progress.ts";
import { run } from "./process.ts";
import { ROOT } from "./root.ts";

/** How many tests passed, failed and were skipped. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Stage {
  readonly name: string;
  readonly run: () => Promise<Counts>;
}

export function testCommand(): Command {
  return new Command("test")
    .description("prove that it works: checks, unit, graph and end-to-end tests in the lab")
    .option(
      "--quick",
      "without conformance and end-to-end tests: no virtual machine, a few minutes",
    )
    .option("--only <part>", "only the stages whose name has this in it")
    .addHelpText(
      "after",
      "\nExample: berth test --quick\nThe last line is `N passed, N failed`; the exit code is 0 when nothing failed.",
    )
    .action(async (options: { quick?: boolean; only?: string }) => {
      const stages = allStages(options.quick === true).filter((stage) =>
        stage.name.includes(options.only ?? ""),
      );
      if (stages.length === 0) {
        throw new UserError(`no stage has "${options.only ?? ""}" in its name`, {
          hint: `There are: ${allStages(false)
            .map((stage) => stage.name)
            .join(", ")}.`,
          exitCode: 64,
        });
      }
      await prepareHost(createProgress(), ["tests"]);
      process.exitCode = await runStages(stages);
    });
}

function allStages(quick: boolean): Stage[] {
  const stages: Stage[] = [
    ...checks().map((check) => ({
      name: `check ${check.name}`,
      run: async () =>
        (await check.run()) === 0
          ? { passed: 1, failed: 0, skipped: 0 }
          : { passed: 0, failed: 1, skipped: 0 },
    })),
    { name: "Python tests", run: pythonTests },
    {
      name: "unit tests",
      run: () =>
        nodeTests(
          ["components/**/*.test.ts", "cli/**/*.test.ts", "lab/**/*.test.ts"],
          ["lab/conformance/**"],
        ),
    },
    { name: "graph tests", run: () => nodeTests(["test/graph/**/*.test.ts"]) },
  ];
  const slow: Stage[] = [
    { name: "conformance tests", run: () => nodeTests(["lab/conformance/**/*.test.ts"]) },
    { name: "end-to-end tests", run: () => nodeTests(["test/e2e/**/*.test.ts"]) },
  ];
  return quick ? stages : [...stages, ...slow];
}

async function runStages(stages: readonly Stage[]): Promise<number> {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const started = Date.now();
  const red: string[] = [];
  for (const stage of stages) {
    const before = Date.now();
    process.stdout.write(`\n== ${stage.name}\n`);
    const counts = await stage.run();
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
    if (counts.failed > 0 || counts.passed + counts.skipped === 0) {
      red.push(stage.name);
      // A stage in which nothing ran proves nothing: it counts as a failure, never as a pass.
      total.failed += counts.failed > 0 ? 0 : 1;
    }
    process.stdout.write(`== ${stage.name}: ${summary(counts)}, ${seconds(before)}\n`);
  }
  process.stdout.write(
    `\n${red.length === 0 ? "All stages are green" : `Red: ${red.join("; ")}`} (${seconds(started)}).\n`,
  );
  process.stdout.write(
    red.length === 0
      ? "Next: ./berth lab up, to look at a fleet yourself.\n"
      : `Next: ./berth test --only "${red[0] ?? ""}", to run the first red stage alone.\n`,
  );
  if (total.skipped > 0) {
    process.stdout.write(`${String(total.skipped)} skipped\n`);
  }
  process.stdout.write(`${String(total.passed)} passed, ${String(total.failed)} failed\n`);
  return total.failed === 0 ? 0 : 1;
}

/** Runs test files with Node's own runner, as many at once as there are processors: each is alone. */
function nodeTests(patterns: readonly string[], exclude: readonly string[] = []): Promise<Counts> {
  const files = globSync([...patterns], {
    cwd: ROOT,
    exclude: [...exclude, "node_modules/**"],
  }).sort();
  if (files.length === 0) {
    return Promise.resolve({ passed: 0, failed: 0, skipped: 0 });
  }
  return new Promise((resolve, reject) => {
    const stream = runNodeTests({
      files: files.map((file) => join(ROOT, file)),
      concurrency: availableParallelism(),
    });
    const counts = { passed: 0, failed: 0, skipped: 0 };
    stream.on("test:summary", (data) => {
      if (data.file === undefined) {
        counts.passed = data.counts.passed;
        counts.failed =
          data.counts.tests - data.counts.passed - data.counts.skipped - data.counts.todo;
        counts.skipped = data.counts.skipped + data.counts.todo;
      }
    });
    stream.on("error", reject);
    const report = stream.compose(spec);
    report.pipe(process.stdout, { end: false });
    report.on("end", () => {
      resolve(counts);
    });
  });
}

/** Runs the Python tests of nodes, guests and the lab's node, and reads unittest's closing lines. */
async function pythonTests(): Promise<Counts> {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const folder of ["scripts/node", "scripts/guest", "lab/node"]) {
    const result = await run(
      "python3",
      ["-m", "unittest", "discover", "-b", "-s", folder, "-t", folder, "-p", "test_*.py"],
      { cwd: ROOT, show: true },
    );
    const counts = unittestCounts(result.stderr, result.code);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
  }
  return total;
}

/** Counts of a unittest run; a run that ended badly without naming a test is one failure. */
export function unittestCounts(output: string, code: number): Counts {
  const number = (pattern: RegExp) => Number(pattern.exec(output)?.[1] ?? 0);
  const ran = number(/^Ran (\d+) tests?/m);
  const failed =
    number(/\bfailures=(\d+)/) + number(/\berrors=(\d+)/) + number(/\bunexpected successes=(\d+)/);
  const skipped = number(/\bskipped=(\d+)/);
  return {
    passed: Math.max(0, ran - failed - skipped),
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped,
  };
}

function summary(counts: Counts): string {
  return `${String(counts.passed)} passed, ${String(counts.failed)} failed, ${String(counts.skipped)} skipped`;
}

function seconds(since: number): string {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}
