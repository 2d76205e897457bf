#!/usr/bin/python3 -IS
"""Prepares one agent's berth on its node, before its container exists or changes.

Refuses to go on when the VMID is somebody else's: the provider would adopt that machine in
silence, and destroy it later. Then makes the home's dataset, with its quota and owner.

Reads a JSON document on standard input, prints {"dataset", "home"}. Exit codes: see
berth_node/failure.py.
"""

from __future__ import annotations

import os
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from berth_node import conf, failure, proc, schema, zfs
from berth_node.lock import agent_lock

TIME_LIMIT = 300
# What an unprivileged container maps: ids above have no owner on the node.
MAPPED_IDS = 65_536
DATASET_MODE = 0o711
HOME_MODE = 0o700

CHECK = schema.record(
    agent=schema.NAME,
    stack=schema.STACK,
    node=schema.NODE,
    vmid=schema.VMID,
    dataset=schema.DATASET,
    quota=schema.whole(1 << 20, 1 << 60),
    uid=schema.whole(1000, MAPPED_IDS - 2),
    idmapBase=schema.whole(MAPPED_IDS, 1 << 31),
    container=schema.anything,
)


def refuse_taken_vmid(document: dict[str, Any]) -> None:
    """End unless the VMID is free in the whole cluster, or this agent's own and here."""
    found = conf.find(document["vmid"])
    if found:
        conf.require_ours(found, document["agent"], document["stack"], document["node"])


def ensure_dataset(document: dict[str, Any]) -> str:
    """The home's dataset, made or brought to its quota and mounted; returns its mount point."""
    dataset, agent, stack = document["dataset"], document["agent"], document["stack"]
    quota = str(document["quota"])
    parent = dataset.rsplit("/", 1)[0]
    found = zfs.look(parent, dataset)
    if parent not in found:
        failure.die(f"the dataset {parent!r} is not there", "run `up` for the node first")

    properties = found.get(dataset)
    if properties is None:
        mountpoint = zfs.mountpoint_below(found[parent], dataset)
        zfs.require_plain_mountpoint(dataset, mountpoint)
        labels = [f"{zfs.STACK}={stack}", f"{zfs.AGENT}={agent}"]
        zfs.create(dataset, mountpoint, [f"refquota={quota}", *labels])
        return mountpoint

    owner = (properties.get(zfs.STACK, "-"), properties.get(zfs.AGENT, "-"))
    if owner != (stack, agent):
        failure.die(
            f"the dataset {dataset!r} is not this agent's "
            f"({zfs.STACK}={owner[0]}, {zfs.AGENT}={owner[1]})",
            f"if it is to become {agent!r}'s home: "
            f"zfs set {zfs.STACK}={stack} {zfs.AGENT}={agent} {dataset}",
        )
    zfs.require_plain_mountpoint(dataset, properties["mountpoint"])
    mountpoint = zfs.ensure_mounted(dataset, properties)
    if properties.get("refquota") != quota:
        hint = f"what it holds now: zfs list -o refer,refquota {dataset}"
        proc.run(["zfs", "set", f"refquota={quota}", dataset], zfs.TIMEOUT, hint=hint)
    return mountpoint


def prepare() -> dict[str, str]:
    """The whole of it."""
    failure.limit_time(TIME_LIMIT)
    document = failure.read_document()
    CHECK("", document)
    failure.require_root()
    conf.require_node(document["node"])
    with agent_lock(document["vmid"], wait=60):
        refuse_taken_vmid(document)
        mountpoint = ensure_dataset(document)
        zfs.own_directory(mountpoint, os.geteuid(), DATASET_MODE)
        # A directory inside, never the dataset's root: with an unmounted dataset the start of
        # the container then fails, instead of giving the agent an empty home.
        home = f"{mountpoint}/home"
        zfs.own_directory(home, document["idmapBase"] + document["uid"], HOME_MODE)
    return {"dataset": document["dataset"], "home": home}


if __name__ == "__main__":
    sys.exit(failure.conclude(prepare))
