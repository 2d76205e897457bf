"""Container configs under /etc/pve, and whose container one is."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from berth_node.failure import die
from berth_node.paths import PVE_NODES, at, local_node, read

KINDS = {"lxc": "container", "qemu-server": "virtual machine"}


class Conf(NamedTuple):
    """What Proxmox has under one VMID."""

    node: str
    kind: str
    vmid: int
    text: str

    @property
    def path(self) -> str:
        """The file on the node."""
        return f"{PVE_NODES}/{self.node}/{self.kind}/{self.vmid}.conf"

    def section(self, name: str = "") -> dict[str, str]:
        """The options of one section; the main one has no name."""
        options: dict[str, str] = {}
        current = ""
        for line in self.text.splitlines():
            if line.startswith("["):
                current = line.strip()[1:-1]
            elif current == name and not line.startswith("#"):
                key, colon, value = line.partition(":")
                if colon:
                    options[key.strip()] = value.strip()
        return options

    def describe(self) -> str:
        """How the operator knows it: kind, name, node and tags."""
        main = self.section()
        name = main.get("hostname") or main.get("name") or "(no name)"
        tags = main.get("tags", "none")
        return f"{KINDS[self.kind]} {name!r} on node {self.node!r} (tags: {tags})"


def find(vmid: int) -> Conf | None:
    """What holds `vmid` anywhere in the cluster; /etc/pve is the same on every node."""
    try:
        nodes = sorted(os.listdir(at(PVE_NODES)))
    except FileNotFoundError:
        die(f"{PVE_NODES} is not there", "is Proxmox's cluster file system up? (pve-cluster)")
    for node in nodes:
        for kind in KINDS:
            text = read(f"{PVE_NODES}/{node}/{kind}/{vmid}.conf")
            if text is not None:
                return Conf(node, kind, vmid, text)
    return None


def require_node(node: str) -> None:
    """Refuse to work on another node than the document's."""
    here = local_node()
    if here != node:
        die(
            f"this is node {here!r}, the document is for {node!r}",
            f"set the address of {node!r} in the config to that node's own",
        )


def require_ours(conf: Conf, agent: str, stack: str, node: str, in_state: bool = False) -> None:
    """End unless `conf` is this agent's container: kind, both tags, host name and node.

    With `in_state` the caller comes after the provider, which may have taken the stranger for the
    agent's: then it must leave the state first, or the provider would destroy it with the agent.
    """
    leave = (
        "first take it out of the state, or it goes with the agent: "
        f"`pulumi state delete URN`, the URN of {agent!r}'s ContainerLegacy; then"
    )
    main = conf.section()
    tags = set(re.split(r"[;,\s]+", main.get("tags", "")))
    if not (
        conf.kind == "lxc" and {"berth", f"berth-{stack}"} <= tags and main.get("hostname") == agent
    ):
        die(
            f"VMID {conf.vmid} is taken by a foreign machine: {conf.describe()}",
            (f"{leave} " if in_state else "it is left alone; ")
            + f"give {agent!r} another `vmid` in the config",
        )
    if conf.node != node:
        die(
            f"container {conf.vmid} of {agent!r} is on node {conf.node!r}, not on {node!r}",
            f"set `node: {conf.node}` for {agent!r}, or migrate it back: "
            f"pct migrate {conf.vmid} {node} (on {conf.node})",
        )
    if main.get("lock") == "create":
        die(
            f"container {conf.vmid} of {agent!r} is half made: its creation was interrupted",
            f"remove it, then run `up` again: pct unlock {conf.vmid} && pct destroy {conf.vmid}",
        )
