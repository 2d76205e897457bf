#!/usr/bin/python3 -IS
"""Brings one agent's container and guest to what the document says, again and in place.

Order: identity, memory, raw keys, start, live limits, limits read back, the guest's manifest.
A second run with the same document changes nothing and starts one process in the guest.

    apply.py [--instance TEXT] < DOCUMENT    prints {"hostKeys", "limits", "pending"}
    apply.py --delete < DOCUMENT             last snapshot and a clean stop; prints {"deleted"}

--instance is read by nobody: it makes the command another one, and so run again, when the
container is another one. --delete runs before the provider removes the container, in a
replacement and in a destroy; when it fails, nothing is removed. It never destroys a dataset.

Exit codes: see berth_node/failure.py.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from berth_node import conf, container, document, failure, limits, proc, zfs
from berth_node.lock import agent_lock

LOCK_SECONDS = 60
GUEST_START_SECONDS = 300


def apply(applied: dict[str, Any], end: float) -> dict[str, Any]:
    """Create or update."""
    vmid, wanted = applied["vmid"], applied["limits"]
    found = identify(applied)
    if found is None:
        failure.die(f"there is no container {vmid}", "run `pulumi refresh`, then `up` again")

    if limits.is_running(vmid):
        active = limits.read_back(vmid, container.wait_for_init(vmid, end))
        limits.refuse_below_use(vmid, wanted, active)
    if container.set_memory(found, wanted):
        found = identify(applied) or found
    container.set_raw_keys(found, applied)

    waiting: list[str] = []
    running = limits.is_running(vmid)
    if running:
        init = container.wait_for_init(vmid, end)
        waiting = container.pending(found, init, applied)
        if waiting and applied["restart"] == "allowed":
            container.stop(vmid)
            running, waiting = False, []
    if not running:
        container.start(vmid, applied)
    started = min(end, time.monotonic() + GUEST_START_SECONDS)
    init = container.wait_for_init(vmid, started)

    # Proxmox writes a memory.high of its own whenever memory changes: ours goes on top.
    limits.write_live(vmid, wanted)
    active = limits.read_back(vmid, init)
    nofile = expected_files(wanted, active, waiting)
    wrong = limits.differences({**wanted, "nofile": nofile}, active)
    if wrong:
        failure.die(f"the limits of container {vmid} do not hold: {'; '.join(wrong)}")

    container.wait_for_boot(vmid, init, started)
    container.bootstrap(vmid, applied["guestHash"], init, end - time.monotonic())
    summary = container.apply_manifest(applied, end - time.monotonic())
    report_guest(summary)
    document.store(applied)
    return {"hostKeys": summary["hostKeys"], "limits": active, "pending": waiting}


def expected_files(wanted: dict[str, int], active: dict[str, int], waiting: list[str]) -> int:
    """The nofile that must be in force: what is pending is allowed to be the old one."""
    is_pending = any(item.startswith("nofile:") for item in waiting)
    return active["nofile"] if is_pending else wanted["nofile"]


def report_guest(summary: dict[str, Any]) -> None:
    """Say what changed inside, on standard error: the answer stays the same on every run."""
    for what in ("installed", "changed", "removed", "restarted"):
        if summary[what]:
            print(f"berth: guest: {what}: {', '.join(summary[what])}", file=sys.stderr)
    for warning in summary["warnings"]:
        print(f"berth: guest: warning: {warning}", file=sys.stderr)


def delete(applied: dict[str, Any]) -> dict[str, Any]:
    """Take a last snapshot and stop the container; a container that is gone is fine."""
    vmid, dataset = applied["vmid"], applied["dataset"]
    if identify(applied) is None:
        document.forget(vmid)
        return {"deleted": False}
    answer: dict[str, Any] = {"deleted": True}
    if dataset in zfs.look(dataset):
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        answer["snapshot"] = f"{dataset}@berth-last-{stamp}"
        proc.run(["zfs", "snapshot", answer["snapshot"]], zfs.TIMEOUT)
    if limits.is_running(vmid):
        container.stop(vmid)
    document.forget(vmid)
    return answer


def identify(applied: dict[str, Any]) -> conf.Conf | None:
    """This agent's container, or None when the VMID is free; anybody else's is the end."""
    found = conf.find(applied["vmid"])
    if found:
        conf.require_ours(found, applied["agent"], applied["stack"], applied["node"], in_state=True)
    return found


def parse(argv: list[str]) -> bool:
    """Whether to delete. By hand: argparse would be a third of this program's start."""
    match argv:
        case [] | ["--instance", _]:
            return False
        case ["--delete"]:
            return True
    failure.die("usage: apply.py [--instance TEXT | --delete] < DOCUMENT", code=failure.WRONG_USE)


def main(argv: list[str]) -> int:
    """Read the document, take the lock, do the work within its deadline."""

    def work() -> dict[str, Any]:
        remove = parse(argv)
        applied = document.check(failure.read_document())
        failure.require_root()
        failure.limit_time(applied["deadline"])
        # Steps end a little before the whole does, and then say more than it can.
        end = time.monotonic() + applied["deadline"] - min(5, applied["deadline"] / 4)
        conf.require_node(applied["node"])
        with agent_lock(applied["vmid"], min(LOCK_SECONDS, applied["deadline"] / 4)):
            return delete(applied) if remove else apply(applied, end)

    return failure.conclude(work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
