"""Running the node's commands: a list, never a shell, never without a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from berth_node.failure import BerthError, Steps
from berth_node.paths import ROOT

# Proxmox's tools are in /usr/sbin, which a non-login shell may not have on its PATH.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Result(NamedTuple):
    """What a command left: its exit code and its two outputs."""

    code: int
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """The last line that the command wrote, which is where Proxmox says what is wrong."""
        lines = [line for line in (self.stderr or self.stdout).splitlines() if line.strip()]
        return lines[-1].strip() if lines else f"exit code {self.code}"


def attempt(argv: Sequence[str], timeout: float, stdin: str = "") -> Result:
    """Run `argv` and return what it left; an end of time is a failure."""
    environment = {
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "PATH": os.environ.get("PATH", SYSTEM_PATH) if ROOT else SYSTEM_PATH,
    }
    if ROOT:
        environment["BERTH_ROOT"] = ROOT
    Steps.enter(f"running `{' '.join(argv[:6])}`")
    try:
        # A session of its own: `pct` starts children that keep the pipe open when only it is
        # killed, and this process would wait for them for ever.
        child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        hint = "is this a Proxmox VE node?"
        raise BerthError(f"`{argv[0]}` is not on this node", hint) from error
    try:
        stdout, stderr = child.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        _kill(child)
        raise BerthError(f"`{' '.join(argv[:6])}` did not end within {timeout:g} s") from error
    except BaseException:
        _kill(child)
        raise
    return Result(child.returncode, stdout, stderr)


def run(argv: Sequence[str], timeout: float, stdin: str = "", hint: str = "") -> str:
    """Run `argv`, which must succeed, and return its standard output."""
    result = attempt(argv, timeout, stdin)
    if result.code != 0:
        raise BerthError(f"`{' '.join(argv[:6])}` failed: {result.complaint}", hint)
    return result.stdout


def _kill(child: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
