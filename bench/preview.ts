import { join } from "node:path";

import type { Measure } from "../cli/bench.ts";
import { stackDocument } from "../cli/stack-file.ts";
import { ROOT } from "../cli/root.ts";
import { TestFleet, type Step } from "../test/support/engine.ts";
import type { Document } from "../test/support/fleet.ts";

/** What a preview costs as the fleet grows: the real engine, stand-ins around it, no machine. */

const RUNS = 3;
const SMALL = 3;
const MEDIUM = 30;
const LARGE = 100;
/** The second fleet whose state is compared with the small one's. */
const GROWN = 6;

/** Agents as the example fleet has them, over and over, on a node that carries them all. */
function agents(count: number): Record<string, Document> {
  const examples = Object.values(
    stackDocument(join(ROOT, "Pulumi.prod.yaml"))["agents"] as Record<string, Document>,
  );
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => {
      const more = {
        vmid: 201 + i,
        address: `10.210.0.${String(i + 2)}/24`,
        gateway: "10.210.0.1",
      };
      return [`agent-${String(i + 1)}`, { ...examples[i % examples.length], ...more }];
    }),
  );
}

const NODE = { memory: "4TiB", cores: 128 };

export const measure: Measure = async () => {
  const fleet = await TestFleet.create();
  try {
    const small = await previewTime(fleet, SMALL);
    const medium = await previewTime(fleet, MEDIUM);
    const large = await previewTime(fleet, LARGE);
    const perAgent = large.steps.filter(isOf("agent-1"));
    const slope = (large.seconds - medium.seconds) / (LARGE - MEDIUM) / perAgent.length;

    await fleet.configure(agents(SMALL), NODE);
    await fleet.up();
    // One connection is the node's own, for the programs that all agents share.
    const connections = (fleet.node.connections - 1) / SMALL;
    const before = fleet.stateFile().length;
    await fleet.configure(agents(GROWN), NODE);
    await fleet.up();
    const state = (fleet.stateFile().length - before) / (GROWN - SMALL);

    const custom = perAgent.filter((step) => !step.type.startsWith("berth:"));
    return [
      { name: "preview.3_agents", value: rounded(small.seconds), unit: "s" },
      { name: "preview.30_agents", value: rounded(medium.seconds), unit: "s" },
      { name: "preview.100_agents", value: rounded(large.seconds), unit: "s" },
      { name: "preview.registration", value: rounded(slope * 1000), unit: "ms" },
      { name: "preview.custom_resources_per_agent", value: custom.length, unit: "resources" },
      { name: "preview.connections_per_agent", value: rounded(connections), unit: "connections" },
      { name: "preview.state_per_agent", value: rounded(state / 1000), unit: "kB" },
    ];
  } finally {
    fleet.close();
  }
};

/** Median of some previews of a new fleet, after one that warms the file cache. */
async function previewTime(
  fleet: TestFleet,
  count: number,
): Promise<{ seconds: number; steps: readonly Step[] }> {
  await fleet.configure(agents(count), NODE);
  const { steps } = await fleet.preview();
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    times.push(await fleet.previewSeconds());
  }
  times.sort((a, b) => a - b);
  return { seconds: times[Math.floor(RUNS / 2)] ?? Number.NaN, steps };
}

/** The component of an agent and what belongs to it. */
function isOf(agent: string): (step: Step) => boolean {
  return (step) => [agent, `${agent}-prepare`, `${agent}-apply`].includes(step.name);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
