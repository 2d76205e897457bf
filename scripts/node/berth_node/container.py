"""Brings one container to its limits and mounts, and starts and stops it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any

from berth_node import conf, document, limits, proc, rawkeys, zfs
from berth_node.failure import BerthError, Steps, die
from berth_node.lock import proxmox_lock
from berth_node.paths import at, read, write_atomically

SET_TIMEOUT = 60
START_TIMEOUT = 180
STOP_SECONDS = 60
POLL_SECONDS = 0.5
# A guest that is younger than this may still be booting.
BOOT_SECONDS = 300


def set_memory(found: conf.Conf, wanted: Mapping[str, int]) -> bool:
    """Proxmox's own memory settings; says whether they were changed."""
    main = found.section()
    memory, swap = (str(wanted[name] // (1 << 20)) for name in ("memoryMax", "swapMax"))
    if (main.get("memory", "512"), main.get("swap", "512")) == (memory, swap):
        return False
    argv = ["pct", "set", str(found.vmid), "--memory", memory, "--swap", swap]
    hint = "a lock such as `backup` in the message means that a Proxmox task holds the container"
    proc.run(argv, SET_TIMEOUT, hint=hint)
    return True


def set_raw_keys(found: conf.Conf, applied: Mapping[str, Any]) -> bool:
    """Limits and mounts that only raw keys can say; says whether they were changed."""
    targets = [mount["target"] for mount in applied["mounts"]]
    sources = [f"/{applied['dataset']}", "/var/lib/berth"]
    with proxmox_lock(found.vmid):
        # Read again under the lock: `pct set`, or anybody, may have written since.
        text = read(found.path)
        if text is None:
            die(f"{found.path} is gone", "somebody removed the container; run `up` again")
        ours = rawkeys.ownership(targets, sources)
        edited = rawkeys.edit(text, document.raw_keys(applied), ours)
        if edited == text:
            return False
        write_atomically(found.path, edited, os.stat(at(found.path)).st_mode & 0o777)
        return True


def start(vmid: int, applied: Mapping[str, Any]) -> None:
    """Start a stopped container, with a word on what would stop it or be wrong inside."""
    if not zfs.is_mounted(applied["dataset"]):
        die(
            f"the home of {applied['agent']!r} is not there: "
            f"the dataset {applied['dataset']!r} is not mounted",
            f"zfs mount {applied['dataset']}",
        )
    for mount in applied["mounts"]:
        if not os.path.isdir(at(mount["source"])):
            die(f"the source of a mount is not there: {mount['source']}", "run `up` for the node")
    hint = f"what LXC says: pct start {vmid} --debug"
    proc.run(["pct", "start", str(vmid)], START_TIMEOUT, hint=hint)


def stop(vmid: int) -> None:
    """Stop a container cleanly, and hard when it does not follow."""
    argv = ["pct", "shutdown", str(vmid), "--timeout", str(STOP_SECONDS), "--forceStop", "1"]
    proc.run(argv, STOP_SECONDS + 60)


def wait_for_init(vmid: int, end: float) -> int:
    """The first process of a container that was just started, or runs."""
    Steps.enter(f"waiting for the first process of container {vmid}")
    while (init := limits.find_init(vmid)) is None:
        if time.monotonic() > end:
            die(f"container {vmid} has no first process", f"see: pct status {vmid}")
        time.sleep(POLL_SECONDS)
    return init


def wait_for_boot(vmid: int, init: int, end: float) -> None:
    """Wait until the guest's systemd is up; a guest that is long up costs no process."""
    if _age(init) > BOOT_SECONDS:
        return
    argv = ["pct", "exec", str(vmid), "--", "systemctl", "is-system-running", "--wait"]
    while True:
        result = proc.attempt(argv, max(end - time.monotonic(), 1))
        # `degraded` is a guest with a failed unit, which is not for this program to judge.
        if result.stdout.strip() in ("running", "degraded"):
            return
        if time.monotonic() > end:
            die(f"the guest of container {vmid} does not come up: {result.complaint}")
        Steps.enter(f"waiting for systemd in container {vmid}")
        time.sleep(POLL_SECONDS)


def pending(found: conf.Conf, init: int, applied: Mapping[str, Any]) -> list[str]:
    """What only a restart of the running container can bring."""
    active, wanted = limits.read_back(found.vmid, init)["nofile"], applied["limits"]["nofile"]
    waiting = [] if active == wanted else [f"nofile: {active} -> {wanted}"]
    for mount in applied["mounts"]:
        target = mount["target"]
        if not limits.same_directory(mount["source"], init, target):
            waiting.append(f"mount: {mount['source']} at /{target}")
        elif _is_read_only(init, target) != mount["readOnly"]:
            waiting.append(f"mount: /{target} {'read-only' if mount['readOnly'] else 'writable'}")
    current = found.section()
    for key, value in sorted(found.section("pve:pending").items()):
        waiting.append(f"{key}: {current.get(key, 'unset')} -> {value}")
    return waiting


def bootstrap(vmid: int, guest_hash: str, init: int, timeout: float) -> None:
    """Give a guest without Python one; everything else in it is Python's work."""
    if not os.path.lexists(at(f"/proc/{init}/root/usr/bin/python3")):
        script = f"/usr/lib/berth/{guest_hash}/bootstrap.sh"
        proc.run(["pct", "exec", str(vmid), "--", "/bin/sh", script], timeout)


def apply_manifest(applied: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """Hand the guest its manifest; returns the guest's summary."""
    vmid, runtime = str(applied["vmid"]), f"/usr/lib/berth/{applied['guestHash']}"
    # The guest ends first and names its own step; this limit is for a guest that cannot.
    limit = str(max(int(timeout) - 5, 1))
    argv = ["pct", "exec", vmid, "--", "/usr/bin/python3", "-IS", f"{runtime}/manifest.py"]
    result = proc.attempt([*argv, "--deadline", limit], timeout, json.dumps(applied["guest"]))
    if result.code != 0:
        said = [line for line in result.stderr.splitlines() if line.startswith("berth: ")]
        hints = [line for line in result.stderr.splitlines() if line.startswith("hint: ")]
        raise BerthError(
            f"in the guest of container {vmid}: "
            + (said[-1].removeprefix("berth: ") if said else result.complaint),
            hints[-1].removeprefix("hint: ") if hints else "",
        )
    summary: dict[str, Any] = json.loads(result.stdout)
    return summary


def _age(init: int) -> float:
    ticks = (read(f"/proc/{init}/stat") or "").rpartition(")")[2].split()
    uptime = (read("/proc/uptime") or "0").split()[0]
    if len(ticks) < 20:
        return 0.0
    return float(uptime) - int(ticks[19]) / os.sysconf("SC_CLK_TCK")


def _is_read_only(init: int, target: str) -> bool:
    return bool(os.statvfs(at(f"/proc/{init}/root/{target}")).f_flag & os.ST_RDONLY)
