"""Running the guest's commands: a list, never a shell, never without a time limit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from berth_guest.failure import ROOT, BerthError, Steps

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Result(NamedTuple):
    """What a command left."""

    code: int
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """The last line that the command wrote."""
        lines = [line for line in (self.stderr or self.stdout).splitlines() if line.strip()]
        return lines[-1].strip() if lines else f"exit code {self.code}"


class User(NamedTuple):
    """Whose user manager a command talks to."""

    name: str
    uid: int
    home: str


def attempt(argv: Sequence[str], timeout: float, user: User | None = None) -> Result:
    """Run `argv`, as `user` when one is given, and return what it left."""
    environment = {
        "DEBIAN_FRONTEND": "noninteractive",
        "HOME": user.home if user else "/root",
        "LC_ALL": "C.UTF-8",
        "PATH": os.environ.get("PATH", SYSTEM_PATH) if ROOT else SYSTEM_PATH,
    }
    if ROOT:
        environment["BERTH_ROOT"] = ROOT
    become: int | None = None
    if user:
        # The user's own uid and runtime directory, and nothing else: `systemctl --user` then
        # talks to the manager's private socket. `-M user@` would start a PAM session, a
        # transient unit and a bridge for each call; as root without it, the bus refuses.
        environment["XDG_RUNTIME_DIR"] = f"/run/user/{user.uid}"
        become = user.uid if user.uid != os.geteuid() else None
    Steps.enter(f"running `{' '.join(argv)}`")
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
            cwd="/",
            timeout=timeout,
            user=become,
            group=become,
            extra_groups=[] if become else None,
        )
    except FileNotFoundError as error:
        raise BerthError(f"`{argv[0]}` is not in this guest") from error
    except subprocess.TimeoutExpired as error:
        raise BerthError(f"`{' '.join(argv)}` did not end within {timeout:g} s") from error
    return Result(done.returncode, done.stdout, done.stderr)


def run(argv: Sequence[str], timeout: float, user: User | None = None, hint: str = "") -> str:
    """Run `argv`, which must succeed, and return its standard output."""
    result = attempt(argv, timeout, user)
    if result.code != 0:
        raise BerthError(f"`{' '.join(argv)}` failed: {result.complaint}", hint)
    return result.stdout
