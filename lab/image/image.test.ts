import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { run } from "../../cli/process.ts";
import { readImage } from "./image.ts";
import { imageFile, inputHash } from "./inputs.ts";
import { debianMirror } from "./mirror.ts";
import { temporaryDirectory } from "../../test/support/temporary.ts";

function etc(files: Readonly<Record<string, string>>): string {
  const dir = temporaryDirectory("etc");
  mkdirSync(join(dir, "apt", "sources.list.d"), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(dir, name), text);
  }
  return dir;
}

const DEBIAN = "ID=debian\n";

test("a Debian machine's own mirror is used, in either form of apt's sources", () => {
  const deb822 = `Types: deb
URIs: http://mirror.example.org/debian/
Suites: trixie
Components: main contrib
`;
  const disabled = `Enabled: no\n${deb822.replace("mirror", "off")}`;
  const security = deb822.replace("/debian/", "/debian-security/");
  const sources = (text: string) =>
    debianMirror(etc({ "os-release": DEBIAN, "apt/sources.list.d/debian.sources": text }));
  assert.equal(sources(deb822), "http://mirror.example.org/debian");
  assert.equal(
    sources([security, disabled, deb822].join("\n")),
    "http://mirror.example.org/debian",
  );
  assert.equal(sources(disabled), "http://deb.debian.org/debian");
  assert.equal(
    debianMirror(
      etc({
        "os-release": DEBIAN,
        "apt/sources.list": "# x\ndeb [arch=amd64] https://m.example.org/debian trixie main\n",
      }),
    ),
    "https://m.example.org/debian",
  );
});

test("another distribution, and a machine without such a source, use Debian's own", () => {
  const source = "deb http://m.example.org/debian x main\n";
  const other = etc({ "os-release": "ID=ubuntu\n", "apt/sources.list": source });
  assert.equal(debianMirror(other), "http://deb.debian.org/debian");
  assert.equal(debianMirror(etc({ "os-release": DEBIAN })), "http://deb.debian.org/debian");
});

test("the hash follows every input: texts, their borders, files and folders", () => {
  const base = inputHash(["a", "b"], ["guest"]);
  assert.match(base, /^[0-9a-f]{12}$/);
  assert.equal(inputHash(["a", "b"], ["guest"]), base);
  assert.notEqual(inputHash(["ab"], ["guest"]), base);
  assert.notEqual(inputHash(["a", "b"], ["node"]), base);
});

test("an image without its id is not complete", () => {
  const dir = temporaryDirectory("image");
  assert.equal(readImage(dir), undefined);
  writeFileSync(join(dir, "id"), "x\n");
  assert.equal(readImage(dir)?.id, "x");
});

test("the scripts are valid for a POSIX shell", async () => {
  for (const script of [
    ...["rootfs.sh", "template.sh", "disk.sh", "node/customize.sh", "guest/customize.sh"],
    "node/files/usr/local/sbin/lab-seed",
  ]) {
    const { code, stderr } = await run("sh", ["-n", imageFile(script)]);
    assert.equal(code, 0, `${script}: ${stderr}`);
  }
});
