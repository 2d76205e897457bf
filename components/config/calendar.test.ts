import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

import { isCalendar } from "./calendar.ts";

const RIGHT = [
  "hourly",
  "08:00",
  "Mon..Fri 08:00",
  "Mon,Wed..Fri 08:00:30",
  "sat *-*-1..7 18:00",
  "*-*-* 03:10:00",
  "*:0/15",
  "2027-12-24",
  "*-02~03 00:00",
  "*-*-1,15 0,12:30",
];
const WRONG = [
  "",
  "whenever",
  "25:00",
  "08:60",
  "8",
  "08:00 Mon",
  "08:00 Europe/Paris",
  "*-13-01",
  "*-*-32 08:00",
  "*:0/0",
  "12..8:00",
  "Mon Tue 08:00",
];

test("a calendar expression has weekdays, a date and a time in this order and in their ranges", () => {
  assert.deepEqual(
    RIGHT.filter((text) => !isCalendar(text)),
    [],
  );
  assert.deepEqual(WRONG.filter(isCalendar), []);
});

test("systemd takes every calendar expression that the config takes", (t) => {
  const result = spawnSync("systemd-analyze", ["calendar", ...RIGHT], { encoding: "utf8" });
  if (result.error) {
    t.skip("no systemd-analyze on this machine");
    return;
  }
  assert.equal(result.status, 0, result.stderr);
});
