import assert from "node:assert/strict";
import { test } from "node:test";

import { bob } from "../../test/support/fleet.ts";
import type { LoopConfig } from "../config/schema.ts";
import { loopUnits } from "./loop.ts";

function loop(more: Record<string, unknown>): LoopConfig {
  const config = bob({ loops: { hello: { command: ["/bin/echo", "hi"], ...more } } }).loops[
    "hello"
  ];
  assert.ok(config);
  return config;
}

function lines(text: string | undefined, key: string): string[] {
  return (text ?? "").split("\n").filter((line) => line.startsWith(`${key}=`));
}

test("a loop is a service that waits in the gate and a timer with times of its own", () => {
  const units = loopUnits("bob", "hello", loop({ every: "1h", timeLimit: "5min" }));
  assert.equal(units.service, "berth-loop-hello.service");
  assert.equal(units.timer, "berth-loop-hello.timer");
  assert.equal(
    units.files[units.service],
    `# Loop hello of agent bob; written by Berth, changes here are lost.
[Unit]
Description=Berth loop hello
ConditionUser=bob

[Service]
Type=notify
NotifyAccess=main
ExecStart=/usr/local/bin/berth session exec --kind loop --name hello -- /bin/echo hi
RuntimeMaxSec=300
TimeoutStartSec=3600
TimeoutStopSec=30
Slice=berth-sessions.slice
SuccessExitStatus=75
OOMPolicy=stop
StandardInput=null
UnsetEnvironment=SSH_AUTH_SOCK
WorkingDirectory=%h
`,
  );
  assert.equal(
    units.files[units.timer],
    `# Times of loop hello of agent bob; written by Berth, changes here are lost.
[Unit]
Description=Times of Berth loop hello
ConditionUser=bob

[Timer]
OnCalendar=*-*-* *:11:37 UTC
AccuracySec=1s
Persistent=true

[Install]
WantedBy=timers.target
`,
  );
});

test("a timer has an anchor in the calendar, so that it fires after it was installed again", () => {
  for (const config of [loop({ every: "45min" }), loop({ calendar: "*-*-* 03:10:00" })]) {
    const timer = loopUnits("bob", "hello", config).files["berth-loop-hello.timer"];
    assert.notDeepEqual(lines(timer, "OnCalendar"), []);
    assert.deepEqual(lines(timer, "Persistent"), ["Persistent=true"]);
  }
});

test("a calendar loop keeps its zone and is spread by a delay that stays the agent's", () => {
  const units = loopUnits(
    "bob",
    "site",
    loop({ calendar: "Mon..Fri 07:30", timeZone: "Europe/Berlin" }),
  );
  const timer = units.files[units.timer];
  assert.deepEqual(lines(timer, "OnCalendar"), ["OnCalendar=Mon..Fri 07:30 Europe/Berlin"]);
  assert.deepEqual(lines(timer, "RandomizedDelaySec"), ["RandomizedDelaySec=120"]);
  assert.deepEqual(lines(timer, "FixedRandomDelay"), ["FixedRandomDelay=true"]);
});

test("a loop waits in the gate no longer than until its next run, and an hour at most", () => {
  const wait = (config: LoopConfig) =>
    lines(loopUnits("bob", "x", config).files["berth-loop-x.service"], "TimeoutStartSec")[0];
  assert.equal(wait(loop({ every: "5min" })), "TimeoutStartSec=300");
  assert.equal(wait(loop({ every: "8h" })), "TimeoutStartSec=3600");
  assert.equal(wait(loop({ calendar: "daily" })), "TimeoutStartSec=3600");
});

test("a command's words stay themselves in the unit", () => {
  const units = loopUnits(
    "bob",
    "x",
    loop({ every: "1h", command: ["/bin/echo", 'ab%s9%41$x"y\\z #k'] }),
  );
  assert.match(
    lines(units.files[units.service], "ExecStart")[0] ?? "",
    / -- \/bin\/echo "ab%%s9%%41\$\$x\\"y\\\\z #k"$/,
  );
});
