"""The agents' datasets. Nothing here destroys, rolls back or unmounts one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from berth_node import proc
from berth_node.failure import BerthError, Steps, die
from berth_node.paths import at, read

TIMEOUT = 60
LISTED = 5

STACK = "berth:stack"
AGENT = "berth:agent"
_PROPERTIES = f"mountpoint,mounted,canmount,refquota,{STACK},{AGENT}"


def look(*datasets: str) -> dict[str, dict[str, str]]:
    """The properties of those `datasets` that exist."""
    argv = ["zfs", "get", "-H", "-p", "-t", "filesystem", "-o", "name,property,value"]
    result = proc.attempt([*argv, _PROPERTIES, *datasets], TIMEOUT)
    if result.code != 0 and "does not exist" not in result.stderr:
        die(f"cannot read the dataset {datasets[-1]!r}: {result.complaint}")
    found: dict[str, dict[str, str]] = {}
    for line in result.stdout.splitlines():
        name, key, value = line.split("\t")[:3]
        found.setdefault(name, {})[key] = value
    return found


def mountpoint_below(parent: Mapping[str, str], dataset: str) -> str:
    """Where a child of `parent` will be mounted, which inherits the mount point."""
    mountpoint = parent["mountpoint"]
    if not mountpoint.startswith("/"):
        die(
            f"the parent of {dataset!r} has no mount point of its own ({mountpoint})",
            f"zfs set mountpoint=/{dataset.rsplit('/', 1)[0]} {dataset.rsplit('/', 1)[0]}",
        )
    return f"{mountpoint.rstrip('/')}/{dataset.rsplit('/', 1)[1]}"


def require_plain_mountpoint(dataset: str, mountpoint: str) -> None:
    """End when a dataset is mounted elsewhere than at its own name, where the agents' mounts look.

    One that is not mounted by ZFS at all is another fault, told by `ensure_mounted`.
    """
    if mountpoint.startswith("/") and mountpoint != f"/{dataset}":
        die(
            f"the dataset {dataset!r} would be mounted at {mountpoint}, not at /{dataset}",
            "choose a `pool` whose parents are mounted at their names, "
            f"or make it by hand: zfs create -o mountpoint=/{dataset} {dataset}",
        )


def refuse_hidden_files(dataset: str, mountpoint: str) -> None:
    """End when files lie where `dataset` will be mounted: the mount would hide them."""
    try:
        hidden = sorted(os.listdir(at(mountpoint)))
    except FileNotFoundError:
        return
    if hidden:
        shown = ", ".join(f"{mountpoint}/{name}" for name in hidden[:LISTED])
        more = f" and {len(hidden) - LISTED} more" if len(hidden) > LISTED else ""
        die(
            f"mounting {dataset!r} would hide files: {shown}{more}",
            f"look at them, move them away, then run `up` again: mv {mountpoint} {mountpoint}.old",
        )


def create(dataset: str, mountpoint: str, options: Sequence[str] = ()) -> None:
    """Make and mount `dataset`."""
    refuse_hidden_files(dataset, mountpoint)
    settings = [word for option in options for word in ("-o", option)]
    proc.run(["zfs", "create", *settings, dataset], TIMEOUT)


def ensure_mounted(dataset: str, properties: Mapping[str, str]) -> str:
    """Mount an existing `dataset` when it is not mounted, and return where it is."""
    mountpoint = properties["mountpoint"]
    if not mountpoint.startswith("/") or properties["canmount"] != "on":
        die(
            f"the dataset {dataset!r} does not mount itself "
            f"(mountpoint {mountpoint}, canmount {properties['canmount']})",
            f"zfs set canmount=on {dataset}; zfs inherit mountpoint {dataset}",
        )
    if properties["mounted"] != "yes":
        refuse_hidden_files(dataset, mountpoint)
        proc.run(["zfs", "mount", dataset], TIMEOUT)
    return mountpoint


def is_mounted(dataset: str) -> bool:
    """Whether `dataset` is mounted, read without starting a process."""
    mounts = read("/proc/self/mounts") or ""
    return any(line.split(" ", 1)[0] == dataset for line in mounts.splitlines())


def own_directory(path: str, owner: int, mode: int) -> None:
    """Make `path`, a directory that its parent's owner only can replace, `owner`'s."""
    Steps.enter(f"making {path}")
    with suppress(FileExistsError):
        os.mkdir(at(path), mode)
    descriptor = os.open(at(path), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if (status.st_uid, status.st_gid) != (owner, owner):
            if os.listdir(descriptor):
                raise BerthError(
                    f"{path} belongs to {status.st_uid}:{status.st_gid}, not to {owner}:{owner}, "
                    "and is not empty",
                    "if its files are this agent's: "
                    f"chown -R -h --from={status.st_uid} {owner}:{owner} {path}",
                )
            os.fchown(descriptor, owner, owner)
        if status.st_mode & 0o7777 != mode:
            os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)
