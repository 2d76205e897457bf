"""Proxmox's lock on a container's config: flock with a time limit, re-entrant in one thread."""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import PveError

_held = threading.local()


@contextmanager
def lock_file(path: Path, timeout: float, shown: str) -> Iterator[None]:
    """Holds an exclusive flock on `path`, or raises Proxmox's text after `timeout` seconds."""
    mine: set[Path] = getattr(_held, "paths", set())
    _held.paths = mine
    if path in mine:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        _acquire(file.fileno(), timeout, shown)
        mine.add(path)
        try:
            yield
        finally:
            mine.discard(path)


def _acquire(descriptor: int, timeout: float, shown: str) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise PveError(f"can't lock file '{shown}' - got timeout") from None
            time.sleep(0.05)
