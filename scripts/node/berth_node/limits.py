"""The limits of a running container, read and written where Proxmox sets them.

That is the outer cgroup `lxc/<vmid>`. The guest lives below it, in `lxc/<vmid>/ns`, and sees
`max` there, so nothing here asks the guest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from berth_node.failure import die
from berth_node.paths import at, read

FILES = {
    "memoryMax": "memory.max",
    "memoryHigh": "memory.high",
    "swapMax": "memory.swap.max",
    "pidsMax": "pids.max",
}
UNLIMITED = -1


def outer(vmid: int) -> str:
    """The cgroup that Proxmox limits."""
    return f"/sys/fs/cgroup/lxc/{vmid}"


def is_running(vmid: int) -> bool:
    """Whether any process lives in the container."""
    return "populated 1" in (read(f"{outer(vmid)}/cgroup.events") or "")


def find_init(vmid: int) -> int | None:
    """The pid, on the node, of the container's first process."""
    for cgroup in (f"{outer(vmid)}/ns/init.scope", f"{outer(vmid)}/ns"):
        for pid in (read(f"{cgroup}/cgroup.procs") or "").split():
            status = read(f"/proc/{pid}/status") or ""
            spaces = next((x for x in status.splitlines() if x.startswith("NSpid:")), "")
            # Two levels: the node's and the container's own; a container inside it has three.
            if spaces.split()[1:] == [pid, "1"]:
                return int(pid)
    return None


def read_back(vmid: int, init: int) -> dict[str, int]:
    """The limits in force; -1 is unlimited."""
    values = {name: _number(f"{outer(vmid)}/{file}") for name, file in FILES.items()}
    values["nofile"] = _open_files(init)
    return values


def write_live(vmid: int, wanted: Mapping[str, int]) -> None:
    """Bring the running container to its limits; a file that is right already is left alone."""
    for name, file in FILES.items():
        path = f"{outer(vmid)}/{file}"
        if _number(path) != wanted[name]:
            with open(at(path), "w", encoding="ascii") as knob:
                knob.write(str(wanted[name]))


def unreclaimable(vmid: int) -> int:
    """The memory that the kernel cannot take back from the container: no page cache in it."""
    path = f"{outer(vmid)}/memory.stat"
    stat = dict(line.split(" ", 1) for line in (read(path) or "").splitlines())
    try:
        kernel = int(stat["kernel"]) - int(stat["slab_reclaimable"])
        return int(stat["anon"]) + int(stat["shmem"]) + kernel
    except (KeyError, ValueError):
        die(f"{path} does not say how much memory container {vmid} uses")


def refuse_below_use(vmid: int, wanted: Mapping[str, int], active: Mapping[str, int]) -> None:
    """End when memory would be lowered to where the container cannot live: an OOM kill."""
    used = unreclaimable(vmid)
    floors = {"memoryMax": used + wanted["guestReserve"], "memoryHigh": used}
    for name, floor in floors.items():
        lowered = active[name] == UNLIMITED or wanted[name] < active[name]
        if lowered and wanted[name] < floor:
            die(
                f"{FILES[name]} of container {vmid} cannot be lowered to {wanted[name]}: "
                f"{used} bytes in use cannot be reclaimed"
                + (f", {wanted['guestReserve']} are reserved" if name == "memoryMax" else "")
                + f"; the least is {floor}",
                "end sessions of this agent, or choose a larger size",
            )


def differences(wanted: Mapping[str, int], active: Mapping[str, int]) -> list[str]:
    """What is not as wanted, in words."""
    return [
        f"{FILES.get(name, name)} is {'max' if value == UNLIMITED else value}, not {wanted[name]}"
        for name, value in active.items()
        if value != wanted[name]
    ]


def _number(path: str) -> int:
    text = (read(path) or "").strip()
    if text == "max":
        return UNLIMITED
    if not text.isdecimal():
        die(f"{path} cannot be read", "is the container running, with cgroup v2?")
    return int(text)


def _open_files(init: int) -> int:
    for line in (read(f"/proc/{init}/limits") or "").splitlines():
        if line.startswith("Max open files"):
            hard = line.split()[4]
            return int(hard) if hard.isdecimal() else UNLIMITED
    die(f"/proc/{init}/limits does not say how many files may be open")


def same_directory(source: str, init: int, target: str) -> bool:
    """Whether `target` in the guest is `source` of the node, mounted."""
    try:
        there = os.stat(at(f"/proc/{init}/root/{target}"))
        here = os.stat(at(source))
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
