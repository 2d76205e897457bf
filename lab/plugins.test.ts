import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../cli/root.ts";
import { isInstalled, PLUGINS, wishOf } from "./plugins.ts";
import { temporaryDirectory } from "../test/support/temporary.ts";

test("the plugins are those of the SDKs in package.json", () => {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  assert.deepEqual(
    PLUGINS.map((plugin) => plugin.version),
    [manifest.dependencies["@pulumi/command"], manifest.dependencies["@muhlba91/pulumi-proxmoxve"]],
  );
});

test("a plugin is installed when its program is there and no download is under way", () => {
  const home = temporaryDirectory("plugins");
  const plugin = { name: "command", version: "1.2.1" };
  const dir = join(home, "plugins", "resource-command-v1.2.1");
  assert.equal(isInstalled(plugin, home), false);
  mkdirSync(dir, { recursive: true });
  assert.equal(isInstalled(plugin, home), false);
  writeFileSync(join(dir, "pulumi-resource-command"), "");
  assert.equal(isInstalled(plugin, home), true);
  writeFileSync(`${dir}.partial`, "");
  assert.equal(isInstalled(plugin, home), false);
});

test("BERTH_PLUGINS is official or stand-in, or not set", () => {
  assert.equal(wishOf(undefined), undefined);
  assert.equal(wishOf(""), undefined);
  assert.equal(wishOf("official"), "official");
  assert.throws(() => wishOf("mock"), /BERTH_PLUGINS is "mock"/);
});
