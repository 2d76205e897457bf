import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

import { everyCalendar, stableOffset } from "./schedule.ts";

const DAY = 86_400;
/** Every period that the config takes, in seconds. */
const PERIODS = Array.from({ length: 1440 }, (_, i) => (i + 1) * 60).filter((p) => DAY % p === 0);

/** The seconds of a day at which an expression of the form that we write comes up. */
function secondsOf(expression: string): number[] {
  const [, hours = "", minutes = "", second = ""] =
    /^\*-\*-\* ([^:]+):([^:]+):(\d\d) UTC$/.exec(expression) ?? assert.fail(expression);
  return field(hours, 24).flatMap((hour) =>
    field(minutes, 60).map((minute) => hour * 3600 + minute * 60 + Number(second)),
  );
}

function field(text: string, end: number): number[] {
  const [from = "", step] = text.split("/");
  const first = from === "*" ? 0 : Number(from);
  const by = step === undefined ? (from === "*" ? 1 : end) : Number(step);
  return Array.from({ length: Math.ceil((end - first) / by) }, (_, i) => first + i * by);
}

test("every period that divides a day gives all its times and no other, from its offset on", () => {
  assert.equal(PERIODS.length, 36);
  for (const period of PERIODS) {
    for (const offset of new Set([0, 1, 59, period - 1, stableOffset("bob", "hello", period)])) {
      const times = everyCalendar(period, offset)
        .flatMap(secondsOf)
        .sort((a, b) => a - b);
      const wanted = Array.from({ length: DAY / period }, (_, run) => offset + run * period);
      assert.deepEqual(times, wanted, `${String(period)} s from ${String(offset)} s`);
    }
  }
});

test("systemd takes every rendered time, and each will come again", (t) => {
  const times = PERIODS.flatMap((period) => everyCalendar(period, period - 1));
  const result = spawnSync("systemd-analyze", ["calendar", ...times], { encoding: "utf8" });
  if (result.error) {
    t.diagnostic("left out: no systemd-analyze on this machine");
    return;
  }
  assert.equal(result.status, 0, result.stderr);
  assert.equal(result.stdout.match(/^\s*Next elapse: /gm)?.length, times.length);
  assert.doesNotMatch(result.stdout, /Next elapse: never/);
});

test("times are in UTC: no hour of theirs is left out or comes twice when summer time begins or ends", () => {
  for (const time of PERIODS.flatMap((period) => everyCalendar(period, 0))) {
    assert.match(time, / UTC$/);
  }
});

test("a period or an offset that has no daily times is refused", () => {
  for (const [period, offset] of [
    [420, 0],
    [90, 0],
    [2 * DAY, 0],
    [3600, 3600],
    [3600, -1],
  ] as const) {
    assert.throws(() => everyCalendar(period, offset), RangeError);
  }
});

test("agents with the same loop do not wake together, and keep their seconds at each rendering", () => {
  const agents = ["bob", "alice", "gordon", "sven"];
  const offsets = agents.map((agent) => stableOffset(agent, "inbox", 3600));
  assert.equal(new Set(offsets).size, agents.length);
  assert.deepEqual(
    agents.map((agent) => stableOffset(agent, "inbox", 3600)),
    offsets,
  );
  // Fixed for good: a new version of Berth must not move anybody's times.
  assert.deepEqual(offsets, [6, 1856, 2932, 1344]);
});

test("an offset is never zero and always less than its period", () => {
  for (const period of PERIODS) {
    for (let i = 0; i < 50; i += 1) {
      const offset = stableOffset(`agent-${String(i)}`, "hello", period);
      assert.ok(offset > 0 && offset < period);
    }
  }
});
