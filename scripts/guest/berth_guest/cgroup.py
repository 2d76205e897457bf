"""What the agent's own cgroups say. Unreadable is None, never zero."""

from __future__ import annotations

import os
from typing import NamedTuple

from berth_guest.failure import at, read

MOUNT = "/sys/fs/cgroup"
HOST_PRESSURE = "/proc/pressure/memory"


class Pressure(NamedTuple):
    """Memory pressure: the share of time in which every task waited, and whose it is."""

    full: float | None
    source: str


def uid_of(name: str) -> int | None:
    """The uid of a local user."""
    for line in (read("/etc/passwd") or "").splitlines():
        fields = line.split(":")
        if fields[0] == name and len(fields) > 2 and fields[2].isdecimal():
            return int(fields[2])
    return None


def user_manager(uid: int) -> str:
    """The cgroup of a user's manager."""
    return f"{MOUNT}/user.slice/user-{uid}.slice/user@{uid}.service"


def of_slice(uid: int, name: str) -> str:
    """The cgroup of a slice of the user's manager; a dash in its name nests it."""
    words = name.removesuffix(".slice").split("-")
    nested = ["-".join(words[: depth + 1]) + ".slice" for depth in range(len(words))]
    return "/".join([user_manager(uid), *nested])


def sessions_slice(uid: int) -> str:
    """The cgroup that every session of the agent runs in."""
    return of_slice(uid, "berth-sessions.slice")


def exists(cgroup: str) -> bool:
    """Whether `cgroup` is there."""
    return os.path.isdir(at(cgroup))


def unreclaimable(cgroup: str) -> int | None:
    """Memory that the kernel cannot take back: no page cache, which `free` counts as used."""
    try:
        stat = dict(
            line.split(" ", 1) for line in (read(f"{cgroup}/memory.stat") or "").split("\n")[:-1]
        )
        kernel = int(stat["kernel"]) - int(stat["slab_reclaimable"])
        return int(stat["anon"]) + int(stat["shmem"]) + kernel
    except (KeyError, ValueError):
        return None


def tasks(cgroup: str) -> int | None:
    """How many processes and threads there are."""
    text = (read(f"{cgroup}/pids.current") or "").strip()
    return int(text) if text.isdecimal() else None


def populated_units(cgroup: str) -> list[str] | None:
    """The units below a slice in which any process lives, this process's own left out.

    A session is counted by its unit, however many processes it has.
    """
    try:
        children = sorted(entry.name for entry in os.scandir(at(cgroup)) if entry.is_dir())
    except OSError:
        return None
    own = (read("/proc/self/cgroup") or "").strip().rpartition("::")[2]
    units: list[str] = []
    for name in children:
        child = f"{cgroup}/{name}"
        if name.endswith(".slice"):
            below = populated_units(child)
            if below is None:
                return None
            units += below
            continue
        events = read(f"{child}/cgroup.events")
        if events is None and exists(child):
            return None
        if "populated 1" in (events or "") and child != f"{MOUNT}{own}":
            units.append(name)
    return units


def pressure(cgroup: str) -> Pressure:
    """The cgroup's own pressure; the machine's, named so, when only that can be read."""
    for path, source in ((f"{cgroup}/memory.pressure", "cgroup"), (HOST_PRESSURE, "host")):
        full = _full_average(read(path) or "")
        if full is not None:
            return Pressure(full, source)
    return Pressure(None, "unavailable")


def _full_average(text: str) -> float | None:
    for line in text.splitlines():
        if line.startswith("full "):
            fields = dict(field.split("=", 1) for field in line.split()[1:] if "=" in field)
            try:
                return float(fields["avg10"])
            except (KeyError, ValueError):
                return None
    return None
