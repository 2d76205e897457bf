"""The document of apply: what it must hold, and how its parts read on the node."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from berth_node import schema
from berth_node.failure import WRONG_USE, die
from berth_node.paths import AGENTS, at, read, write_atomically
from berth_node.rawkeys import RawKey

PAGE = 4096
# fs.nr_open of every Linux since 2.6.25: a larger limit stops the container's start.
MOST_FILES = 1_048_576

_MEMORY = 1 << 50
_PATH = r"[A-Za-z0-9_@%+,:.-]+(/[A-Za-z0-9_@%+,:.-]+)*"

CHECK = schema.record(
    agent=schema.NAME,
    stack=schema.STACK,
    node=schema.NODE,
    vmid=schema.VMID,
    dataset=schema.DATASET,
    guestHash=schema.HASH,
    restart=schema.text("never|allowed", "never or allowed"),
    deadline=schema.whole(2, 86_400),
    limits=schema.record(
        # Proxmox's own settings are in MiB, the kernel rounds the rest down to pages: a value
        # that neither can hold would never read back equal.
        memoryMax=schema.whole(16 * schema.MIB, _MEMORY, schema.MIB),
        memoryHigh=schema.whole(16 * schema.MIB, _MEMORY, PAGE),
        swapMax=schema.whole(0, _MEMORY, schema.MIB),
        pidsMax=schema.whole(16, 4_194_304),
        nofile=schema.whole(64, MOST_FILES),
        guestReserve=schema.whole(0, _MEMORY),
    ),
    mounts=schema.sequence(
        schema.record(
            source=schema.text(f"/{_PATH}", "an absolute path without spaces"),
            target=schema.text(_PATH, "a path in the guest, without a leading /"),
            readOnly=schema.flag,
        )
    ),
    guest=schema.anything,
)


def check(document: Any) -> dict[str, Any]:
    """`document` as it was read, or the end."""
    CHECK("", document)
    checked: dict[str, Any] = document
    limits = checked["limits"]
    if limits["memoryHigh"] > limits["memoryMax"]:
        die("document: limits.memoryHigh: larger than memoryMax", code=WRONG_USE)
    for index, mount in enumerate(checked["mounts"]):
        for key in ("source", "target"):
            if {".", ".."} & set(mount[key].split("/")):
                die(f"document: mounts[{index}].{key}: {mount[key]!r} leads away", code=WRONG_USE)
    return checked


def raw_keys(document: Mapping[str, Any]) -> list[RawKey]:
    """The raw keys of the container's config, in the order that they are written."""
    limits = document["limits"]
    return [
        RawKey("lxc.cgroup2.memory.high", str(limits["memoryHigh"])),
        RawKey("lxc.cgroup2.pids.max", str(limits["pidsMax"])),
        RawKey("lxc.prlimit.nofile", str(limits["nofile"])),
        *(RawKey("lxc.mount.entry", _entry(mount)) for mount in document["mounts"]),
    ]


def _entry(mount: Mapping[str, Any]) -> str:
    # Never `optional`: a container without its home must not start.
    access = "ro" if mount["readOnly"] else "rw"
    return f"{mount['source']} {mount['target']} none {access},bind,create=dir 0 0"


def node_hash() -> str:
    """The runtime that this process runs from: the directory has its name."""
    return os.path.basename(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def store(document: Mapping[str, Any]) -> None:
    """Keep what was applied, for the node's timer and for a rollback to apply again."""
    record = {"document": document, "nodeHash": node_hash()}
    text = json.dumps(record, sort_keys=True, indent=1) + "\n"
    path = f"{AGENTS}/{document['vmid']}.json"
    if read(path) != text:
        os.makedirs(at(AGENTS), mode=0o700, exist_ok=True)
        write_atomically(path, text, 0o600)


def forget(vmid: int) -> None:
    """Drop the stored document of a container that goes."""
    with suppress(FileNotFoundError):
        os.unlink(at(f"{AGENTS}/{vmid}.json"))


def runtimes_in_use() -> set[str]:
    """The hashes that stored documents refer to."""
    hashes: set[str] = set()
    try:
        names: Sequence[str] = os.listdir(at(AGENTS))
    except FileNotFoundError:
        return hashes
    for name in names:
        if name.endswith(".json"):
            record = json.loads(read(f"{AGENTS}/{name}") or "{}")
            hashes |= {record.get("nodeHash", ""), record.get("document", {}).get("guestHash", "")}
    return hashes
