import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { UserError } from "../cli/errors.ts";
import { installPackages, isThere } from "./host.ts";
import { withLock } from "./lock.ts";
import { cacheDir } from "./paths.ts";
import { mustRun, run } from "../cli/process.ts";
import { createProgress, type Progress } from "./progress.ts";

/** The Pulumi engine: the one on the machine, else the official download, else built from its module. */

export const ENGINE_VERSION = "3.276.0";
/** Oldest engine that the SDK's automation interface and our resource options work with. */
const OLDEST: readonly [number, number] = [3, 250];

const RELEASES = "https://github.com/pulumi/pulumi/releases/download";
const MODULE = fileURLToPath(new URL("engine", import.meta.url));
const BUILD_TIME = 45 * 60_000;

export interface Engine {
  /** The program `pulumi`. */
  readonly program: string;
  readonly version: string;
  readonly from: "path" | "cache" | "download" | "build";
}

/** Finds an engine, or gets one into the cache. */
export async function ensureEngine(progress: Progress, cache = cacheDir()): Promise<Engine> {
  const found = (await engineOnPath()) ?? (await cachedEngine(cache));
  if (found !== undefined) {
    return found;
  }
  return withLock(
    join(cache, "engine", "lock"),
    {
      wait: BUILD_TIME,
      onWait: (pid) => {
        progress.say(`Waiting for process ${String(pid)}, which is getting the engine`);
      },
    },
    async () =>
      (await cachedEngine(cache)) ??
      (await downloadEngine(cache, progress)) ??
      (await buildEngine(cache, progress)),
  );
}

/** Environment in which the engine does nothing by itself: no update check, no plugin download. */
export const QUIET_ENGINE: Readonly<Record<string, string>> = {
  PULUMI_SKIP_UPDATE_CHECK: "true",
  PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
};

async function engineOnPath(): Promise<Engine | undefined> {
  for (const dir of (process.env["PATH"] ?? "").split(delimiter)) {
    const program = join(dir, "pulumi");
    const version = existsSync(program) ? await engineVersion(program) : undefined;
    if (version !== undefined && isNewEnough(version)) {
      return { program, version, from: "path" };
    }
  }
  return undefined;
}

async function cachedEngine(cache: string): Promise<Engine | undefined> {
  const program = enginePath(cache);
  const version = existsSync(program) ? await engineVersion(program) : undefined;
  return version === ENGINE_VERSION ? { program, version, from: "cache" } : undefined;
}

/** What an engine says of itself; undefined when it does not run. */
async function engineVersion(program: string): Promise<string | undefined> {
  const env = { ...process.env, ...QUIET_ENGINE };
  const result = await run(program, ["version"], { env, timeout: 20_000 }).catch(() => undefined);
  return result?.code === 0 ? /^v?(\d+\.\d+\.\S+)/m.exec(result.stdout)?.[1] : undefined;
}

export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major === OLDEST[0] && minor >= OLDEST[1];
}

/** The official release, checked against its published digests; undefined when it cannot be reached. */
async function downloadEngine(cache: string, progress: Progress): Promise<Engine | undefined> {
  const archive = `pulumi-v${ENGINE_VERSION}-linux-x64.tar.gz`;
  const base = `${RELEASES}/v${ENGINE_VERSION}`;
  const sums = await download(`${base}/pulumi-${ENGINE_VERSION}-checksums.txt`, 5_000);
  if (sums === undefined) {
    progress.say("No official engine to download from here");
    return undefined;
  }
  const wanted = digestOf(sums.toString(), archive);
  const bytes = await progress.step(`Downloading the Pulumi engine ${ENGINE_VERSION}`, () =>
    download(`${base}/${archive}`, 600_000),
  );
  if (bytes === undefined) {
    return undefined;
  }
  if (wanted === undefined || createHash("sha256").update(bytes).digest("hex") !== wanted) {
    throw new UserError(`the download of ${archive} does not match its published SHA-256 digest`);
  }
  await install(cache, async (work) => {
    writeFileSync(join(work, archive), bytes);
    await mustRun("tar", ["--extract", "--gzip", "--strip-components=1", "--file", archive], {
      cwd: work,
    });
    rmSync(join(work, archive));
  });
  return { program: enginePath(cache), version: ENGINE_VERSION, from: "download" };
}

/** Digest of a file in the lines of sha256sum. */
export function digestOf(sums: string, file: string): string | undefined {
  return sums
    .split("\n")
    .map((line) => line.trim().split(/\s+\*?/))
    .find(([, name]) => name === file)?.[0];
}

/** The engine from its Go module, at the versions of lab/engine/go.sum. */
async function buildEngine(cache: string, progress: Progress): Promise<Engine> {
  if (!isThere("go")) {
    await installPackages(["golang-go"], progress);
  }
  await install(cache, async (work) => {
    const source = join(work, "source");
    cpSync(MODULE, source, { recursive: true });
    const version = `github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${ENGINE_VERSION}`;
    await progress.step(
      "Building the Pulumi engine from its Go module (5 to 10 minutes, once)",
      () =>
        mustRun(
          "go",
          [
            ...["build", "-mod=readonly", "-ldflags", `-s -w -X ${version}`],
            ...["-o", join(work, "pulumi"), "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"],
          ],
          { cwd: source, env: { ...process.env, GOFLAGS: "" } },
        ),
    );
    rmSync(source, { recursive: true });
  });
  return { program: enginePath(cache), version: ENGINE_VERSION, from: "build" };
}

/** Fills a directory beside the final one and moves it into place when it is complete. */
async function install(cache: string, fill: (work: string) => Promise<void>): Promise<void> {
  const target = dirname(enginePath(cache));
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), ".new-"));
  try {
    await fill(work);
    const version = await engineVersion(join(work, "pulumi"));
    if (version !== ENGINE_VERSION) {
      throw new UserError(`the new engine says that it is version ${version ?? "unknown"}`);
    }
    rmSync(target, { recursive: true, force: true });
    renameSync(work, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function download(url: string, time: number): Promise<Buffer | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(time) });
    return response.ok ? Buffer.from(await response.arrayBuffer()) : undefined;
  } catch {
    return undefined;
  }
}

function enginePath(cache: string): string {
  return join(cache, "engine", ENGINE_VERSION, "pulumi");
}

/** The pin of the module and the version here must say the same. */
export function pinnedVersion(): string | undefined {
  return /pulumi\/pkg\/v3 v(\S+)/.exec(readFileSync(join(MODULE, "go.mod"), "utf8"))?.[1];
}

let used: Promise<Engine> | undefined;

/** The engine for this process's use of the Automation API, which looks for it on PATH; found once. */
export function useEngine(): Promise<Engine> {
  used ??= ensureEngine(createProgress()).then((engine) => {
    process.env["PATH"] = `${dirname(engine.program)}${delimiter}${process.env["PATH"] ?? ""}`;
    return engine;
  });
  return used;
}
