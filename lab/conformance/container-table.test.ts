/** The diff table of `ContainerLegacy`, one container a row, on whichever plugin is under test. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import * as proxmox from "@muhlba91/pulumi-proxmoxve";

import { BASE, type ContainerInputs, type Row } from "./container-row.ts";
import { TABLE } from "./container-table.ts";
import { ProxmoxNode, type Change } from "./proxmox-node.ts";
import { TestStack, type Step } from "./stack.ts";

const FIRST_VMID = 201;

describe("a change of a container", () => {
  let node: ProxmoxNode;
  let stack: TestStack;
  let previewed: readonly Step[];
  let updated: readonly Step[];
  let changes: readonly Change[];

  before(async () => {
    node = await ProxmoxNode.start();
    stack = await TestStack.create({ SSL_CERT_FILE: node.certificate });
    await stack.up(fleet(node, TABLE, (row) => row.before ?? {}));
    node.takeChanges();
    const next = fleet(node, TABLE, changedInputs);
    previewed = (await stack.preview(next)).steps;
    assert.deepEqual(node.takeChanges(), [], "a preview changes nothing");
    updated = (await stack.up(fleet(node, TABLE, inputsAfterwards))).steps;
    changes = node.takeChanges();
  });

  after(async () => {
    // The node is files: nothing is left of it.
    stack.remove();
    await node.stop();
  });

  for (const [index, row] of TABLE.entries()) {
    const vmid = FIRST_VMID + index;

    test(`${row.title} is "${row.op}"`, () => {
      const steps = previewed.filter(({ name }) => name === nameOf(vmid));
      const [step] = steps.filter(({ op }) => !/^(create-replacement|delete-replaced)$/.test(op));
      assert.equal(step?.op, row.op);
      assert.deepEqual(step.replaces, row.replaces ?? []);
    });

    if (isApplied(row)) {
      test(`${row.title} asks of Proxmox what it should`, () => {
        const mine = changes.filter(({ path }) => path.split("/")[3] === String(vmid));
        const [config] = mine.filter(({ path }) => path.endsWith("/config"));
        if (row.config !== undefined || row.op === "same") {
          assert.deepEqual(config && anonymous(config.form, vmid), row.config);
        }
        assert.deepEqual(
          mine
            .filter((change) => change !== config)
            .map(({ method, path }) => `${method} ${path.split("/").slice(4).join("/")}`),
          row.requests ?? [],
        );
      });
    }
  }

  test("an update keeps what only Proxmox knows, so a preview can tell it", () => {
    const cores = TABLE.findIndex(({ title }) => title === "cpu.cores");
    const seen = [previewed, updated].map(
      (steps) => steps.find(({ name }) => name === nameOf(FIRST_VMID + cores))?.outputs,
    );
    const [inPreview, inUpdate] = seen.map((outputs) =>
      JSON.stringify(outputs?.["networkInterfaces"]),
    );
    assert.match(inPreview ?? "", /"macAddress":"BC:24:11/);
    assert.equal(inPreview, inUpdate);
  });

  test("the second run has nothing to do", async () => {
    const { steps } = await stack.up(fleet(node, TABLE, inputsAfterwards));
    assert.deepEqual(
      steps.filter(({ op }) => op !== "same"),
      [],
    );
    assert.deepEqual(node.takeChanges(), []);
  });
});

/** A replacement needs what this node does not have: another node, a pool, a template. */
function isApplied({ op, refused = false }: Row): boolean {
  return op !== "replace" && !refused;
}

function inputsAfterwards(row: Row): ContainerInputs {
  return isApplied(row) ? changedInputs(row) : (row.before ?? {});
}

function changedInputs({ before: inputs, after: changed, without = [] }: Row): ContainerInputs {
  const next = { ...inputs, ...changed };
  return Object.fromEntries(Object.entries(next).filter(([name]) => !without.includes(name)));
}

function nameOf(vmid: number): string {
  return `ct-${String(vmid)}`;
}

function fleet(
  node: ProxmoxNode,
  rows: readonly Row[],
  inputs: (row: Row) => ContainerInputs,
): () => Promise<void> {
  return () => {
    const { endpoint, apiToken } = node;
    const provider = new proxmox.Provider("proxmox", { endpoint, apiToken });
    for (const [index, row] of rows.entries()) {
      const vmId = FIRST_VMID + index;
      const args = { ...BASE, vmId, ...inputs(row) } as proxmox.ContainerLegacyArgs;
      new proxmox.ContainerLegacy(nameOf(vmId), args, { provider, deleteBeforeReplace: true });
    }
    return Promise.resolve();
  };
}

/** Without what Proxmox draws: MAC addresses, and the id in the names of volumes. */
function anonymous(form: Readonly<Record<string, string>>, vmid: number): Record<string, string> {
  return Object.fromEntries(
    Object.entries(form).map(([name, value]) => [
      name,
      value.replace(/hwaddr=[0-9A-F:]+/, "hwaddr=MAC").replace(`-${String(vmid)}-`, "-VMID-"),
    ]),
  );
}
