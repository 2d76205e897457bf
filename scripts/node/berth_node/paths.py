"""Where things are on a node. BERTH_ROOT puts them all under another directory."""

from __future__ import annotations

import os

ROOT = os.environ.get("BERTH_ROOT", "").rstrip("/")

STATE = "/var/lib/berth"
AGENTS = f"{STATE}/agents"
PVE_NODES = "/etc/pve/nodes"


def at(path: str) -> str:
    """`path` of the node as this process reaches it."""
    return ROOT + path


def read(path: str) -> str | None:
    """The text of a file of the node, or None when there is none."""
    try:
        with open(at(path), encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def write_atomically(path: str, text: str, mode: int) -> None:
    """Replace a file of the node so that a reader, or a crash, sees the old or the new one."""
    target = at(path)
    temporary = f"{target}.tmp.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            # Only when needed: /etc/pve is a file system that sets modes itself.
            if os.fstat(file.fileno()).st_mode & 0o777 != mode:
                os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def local_node() -> str:
    """The node's name as Proxmox uses it: the host name without its domain."""
    text = read("/etc/hostname") if ROOT else None
    return (text or os.uname().nodename).strip().split(".", 1)[0]
