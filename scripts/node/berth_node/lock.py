"""Locks: ours for a whole apply, and Proxmox's own around an edit of a container's config."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from berth_node.failure import BUSY, Steps, die
from berth_node.paths import at

POLL_SECONDS = 0.2


@contextmanager
def hold(path: str, wait: float, whose: str, hint: str) -> Iterator[None]:
    """Hold the exclusive lock on `path`, waiting for at most `wait` seconds."""
    Steps.enter(f"waiting for {whose}")
    os.makedirs(os.path.dirname(at(path)), mode=0o755, exist_ok=True)
    descriptor = os.open(at(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    die(f"{whose} is held by another process", hint, BUSY)
            time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def agent_lock(vmid: int, wait: float) -> AbstractContextManager[None]:
    """One apply, rollback or delete at a time for each container."""
    return hold(
        f"/run/lock/berth/{vmid}.lock",
        wait,
        f"the lock of container {vmid}",
        f"another run works on it; `fuser -v /run/lock/berth/{vmid}.lock` shows which",
    )


def proxmox_lock(vmid: int, wait: float = 30) -> AbstractContextManager[None]:
    """Proxmox's lock of one config file. Never call pct while holding it: it waits for it."""
    return hold(
        f"/run/lock/lxc/pve-config-{vmid}.lock",
        wait,
        f"Proxmox's lock of container {vmid}",
        "a Proxmox task works on it; see the node's task list",
    )
