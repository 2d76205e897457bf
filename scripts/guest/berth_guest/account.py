"""The agent's account: its uid, its home, no way to root, and a user manager that lingers."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from berth_guest import proc
from berth_guest.document import File
from berth_guest.failure import Steps, at, die, read
from berth_guest.proc import User

TIMEOUT = 60
MANAGER_SECONDS = 120
POLL_SECONDS = 0.2
# Debian's and Ubuntu's groups whose members can become root.
ROOT_GROUPS = ("adm", "disk", "docker", "incus-admin", "lxd", "root", "shadow", "sudo", "wheel")


class Account(NamedTuple):
    """A line of /etc/passwd."""

    name: str
    uid: int
    gid: int


def accounts() -> list[Account]:
    """The local accounts, read as `useradd` reads them."""
    found = []
    for line in (read("/etc/passwd") or "").splitlines():
        fields = line.split(":")
        if len(fields) == 7 and fields[2].isdecimal() and fields[3].isdecimal():
            found.append(Account(fields[0], int(fields[2]), int(fields[3])))
    return found


def ensure(user: User) -> None:
    """Make the account when it is missing; one that is not as wanted is the end."""
    refuse_conflict(user)
    if not any(account.name == user.name for account in accounts()):
        # Group first: its number must be the user's, as the home's owner on the node is both.
        uid = str(user.uid)
        proc.run(["groupadd", "--gid", uid, user.name], TIMEOUT)
        settings = ["--home-dir", user.home, "--no-create-home", "--shell", "/bin/bash"]
        proc.run(["useradd", "--uid", uid, "--gid", uid, *settings, user.name], TIMEOUT)
    refuse_root_groups(user)
    refuse_foreign_home(user)


def refuse_conflict(user: User) -> None:
    """End when the name or the number belongs to another account."""
    for account in accounts():
        if account.name == user.name and (account.uid, account.gid) != (user.uid, user.uid):
            die(
                f"the user {user.name!r} exists with uid {account.uid} and gid {account.gid}, "
                f"not {user.uid}",
                f"set `uid: {account.uid}` in the config, or rebuild the container",
            )
        if account.uid == user.uid and account.name != user.name:
            die(f"uid {user.uid} belongs to the user {account.name!r} in this guest")


def refuse_root_groups(user: User) -> None:
    """End when the agent is in a group that leads to root."""
    for line in (read("/etc/group") or "").splitlines():
        fields = line.split(":")
        if len(fields) == 4 and fields[0] in ROOT_GROUPS and user.name in fields[3].split(","):
            hint = f"an agent has no root: gpasswd --delete {user.name} {fields[0]}"
            die(f"the user {user.name!r} is in the group {fields[0]!r}", hint)


def refuse_foreign_home(user: User) -> None:
    """End when the home is missing or another's: the mount or its owner is wrong."""
    try:
        status = os.stat(at(user.home), follow_symlinks=False)
    except FileNotFoundError:
        die(f"{user.home} is not there", "is the home mounted? restart the container")
    if status.st_uid != user.uid:
        die(
            f"{user.home} belongs to uid {status.st_uid} in the guest, not to {user.uid}",
            "on the node, its owner must be the container's first id + the uid (100000 + "
            f"{user.uid} by default); see: pct config ID | grep idmap",
        )


def skeleton(user: User) -> list[File]:
    """The files that a new home gets, none when it holds anything already."""
    if os.listdir(at(user.home)):
        return []
    files = []
    for name in sorted(os.listdir(at("/etc/skel")) if os.path.isdir(at("/etc/skel")) else []):
        if os.path.isfile(at(f"/etc/skel/{name}")):
            content = read(f"/etc/skel/{name}") or ""
            files.append(File(f"{user.home}/{name}", content, 0o644, "agent"))
    return files


def ensure_manager(user: User) -> None:
    """Let the user's manager run without a login, now and after a restart."""
    if not os.path.exists(at(f"/var/lib/systemd/linger/{user.name}")):
        proc.run(["loginctl", "enable-linger", user.name], TIMEOUT)
    # The manager's private socket is there exactly while the manager listens.
    socket = at(f"/run/user/{user.uid}/systemd/private")
    if os.path.exists(socket):
        return
    proc.run(["systemctl", "start", f"user@{user.uid}.service"], MANAGER_SECONDS)
    Steps.enter(f"waiting for the user manager of {user.name!r}")
    end = time.monotonic() + MANAGER_SECONDS
    while not os.path.exists(socket):
        if time.monotonic() > end:
            hint = f"see: systemctl status user@{user.uid}.service"
            die(f"the user manager of {user.name!r} does not come up", hint)
        time.sleep(POLL_SECONDS)
