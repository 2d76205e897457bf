import assert from "node:assert/strict";
import { test } from "node:test";

import { bob } from "../../test/support/fleet.ts";
import { containerLimits, sliceLimits } from "./limits.ts";

const MiB = 2 ** 20;

test("the container's limits are the config's, in bytes and counts", () => {
  assert.deepEqual(containerLimits(bob()), {
    memoryMax: 1024 * MiB,
    memoryHigh: 896 * MiB,
    swapMax: 512 * MiB,
    pidsMax: 1024,
    nofile: 8192,
  });
});

test("the sessions' fence lies under the container's by the reserve", () => {
  assert.deepEqual(sliceLimits(bob()), { memoryHigh: 640 * MiB, tasksMax: 1024 - 128 });
});

test("an eighth of the processes is kept for the rescuer, and never less than 128", () => {
  assert.equal(sliceLimits(bob({ pidsMax: 512 })).tasksMax, 384);
  assert.equal(sliceLimits(bob({ pidsMax: 8192 })).tasksMax, 7168);
});
