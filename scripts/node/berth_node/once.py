"""What a node needs once, beside the runtimes: the agents' dataset and the template."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from berth_node import conf, proc, schema, zfs
from berth_node.failure import die

LIST_TIMEOUT = 60
DOWNLOAD_TIMEOUT = 1500
POOL_MODE = 0o711

CHECK = schema.record(
    node=schema.NODE,
    stack=schema.STACK,
    pool=schema.DATASET,
    template=schema.text(
        r"[A-Za-z][A-Za-z0-9_.-]*:vztmpl/[A-Za-z0-9_.+~-]+",
        "a template such as local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst",
    ),
    nodeHash=schema.HASH,
    guestHash=schema.HASH,
    files=schema.anything,
)


def prepare_node(document: Mapping[str, Any]) -> None:
    """Check the document and the node, then make the dataset and fetch the template."""
    CHECK("", document)
    conf.require_node(document["node"])
    ensure_pool(document["pool"])
    ensure_template(document["template"])


def ensure_pool(pool: str) -> None:
    """The dataset that holds the agents' homes: mounted, and closed to looking around."""
    parent = pool.rsplit("/", 1)[0]
    found = zfs.look(parent, pool)
    if parent not in found:
        die(
            f"the dataset {parent!r} is not on this node",
            f"`zfs list` shows what is there; set `pool`, or make it: zfs create {parent}",
        )
    parent_mount = zfs.ensure_mounted(parent, found[parent])
    if pool in found:
        zfs.require_plain_mountpoint(pool, found[pool]["mountpoint"])
        mountpoint = zfs.ensure_mounted(pool, found[pool])
    else:
        mountpoint = zfs.mountpoint_below({"mountpoint": parent_mount}, pool)
        zfs.require_plain_mountpoint(pool, mountpoint)
        zfs.create(pool, mountpoint)
    # Passable, not listable, so that an agent that got out of its container as a mapped user
    # does not read the fleet's names; the container's root needs to pass to the home.
    zfs.own_directory(mountpoint, os.geteuid(), POOL_MODE)


def ensure_template(template: str) -> None:
    """The container template, from the storage or from Proxmox's list."""
    storage, _, path = template.partition(":")
    listed = proc.run(["pveam", "list", storage], LIST_TIMEOUT)
    if any(line.split()[:1] == [template] for line in listed.splitlines()):
        return
    name = path.removeprefix("vztmpl/")
    proc.run(["pveam", "update"], LIST_TIMEOUT)
    proc.run(
        ["pveam", "download", storage, name],
        DOWNLOAD_TIMEOUT,
        hint=f"`pveam available` shows the names; a file of your own goes to {storage!r}'s vztmpl",
    )
