"""Runs the node's own programs: argument lists, a time limit, and errors as Proxmox quotes them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import IO

from .errors import PveError


def run(argv: Sequence[str], timeout: float = 120, stdin: IO[bytes] | None = None) -> str:
    """The standard output of a program that has to succeed."""
    try:
        done = subprocess.run(
            argv,
            stdin=stdin or subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PveError(f"command '{' '.join(argv)}' failed: got timeout") from None
    if done.returncode:
        detail = done.stderr.decode(errors="replace").strip()
        failed = f"command '{' '.join(argv)}' failed: exit code {done.returncode}"
        raise PveError(f"{detail}\n{failed}" if detail else failed)
    return done.stdout.decode(errors="replace")
