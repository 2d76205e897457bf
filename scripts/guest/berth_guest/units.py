"""Tells systemd and sshd what changed, and only that."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping

from berth_guest import proc
from berth_guest.document import File
from berth_guest.failure import at
from berth_guest.proc import User

TIMEOUT = 90
SYSTEM_UNITS = "/etc/systemd/system"
USER_UNITS = "/etc/systemd/user"
SSHD = "/etc/ssh/sshd_config.d/"


def below(paths: Iterable[str], *prefixes: str) -> bool:
    """Whether any of `paths` is below one of `prefixes`."""
    return any(path.startswith(prefixes) for path in paths)


def mask(wanted: Collection[str], before: Collection[str]) -> list[str]:
    """Mask system units, unmask those that left; returns what was masked now."""
    links = {unit: at(f"{SYSTEM_UNITS}/{unit}") for unit in wanted}
    new = [unit for unit, link in links.items() if _target(link) != "/dev/null"]
    gone = sorted(set(before) - set(wanted))
    if new:
        proc.run(["systemctl", "mask", "--", *new], TIMEOUT)
    if gone:
        proc.run(["systemctl", "unmask", "--", *gone], TIMEOUT)
    return new


def reload_system() -> None:
    """Let the system manager read its units again."""
    proc.run(["systemctl", "daemon-reload"], TIMEOUT)


def reload_user(user: User) -> None:
    """Let the user's manager read its units again."""
    proc.run(["systemctl", "--user", "daemon-reload"], TIMEOUT, user)


def adjust_slices(files: Mapping[str, File], changed: Collection[str], user: User) -> None:
    """Bring slices to their changed limits: a reload alone leaves a running cgroup as it was.

    The setting is one of the runtime: it ends with the user manager. It goes before the file, so
    it is set at each change, whether the slice runs or not: else an old one would come back.
    """
    for path in changed:
        directory, name = os.path.split(path)
        if path in files and directory == USER_UNITS and name.endswith(".slice"):
            settings = _section(files[path].content, "[Slice]")
            argv = ["systemctl", "--user", "set-property", "--runtime", "--", name, *settings]
            proc.run(argv, TIMEOUT, user)


def drop_timers(gone: Collection[str], user: User) -> None:
    """Stop and disable timers whose units are about to be removed."""
    names = sorted(gone)
    if names and os.path.exists(at(f"/run/user/{user.uid}/systemd/private")):
        # A timer that the agent stopped and that is unloaded since is no failure.
        proc.attempt(["systemctl", "--user", "stop", "--", *names], TIMEOUT, user)
    enabled = [name for name in names if _is_enabled(name)]
    if enabled:
        proc.run(["systemctl", "--global", "disable", "--", *enabled], TIMEOUT)


def start_timers(
    wanted: Collection[str], before: Collection[str], changed: Collection[str], user: User
) -> list[str]:
    """Enable and start new timers, restart changed ones; returns those."""
    disabled = [timer for timer in wanted if not _is_enabled(timer)]
    if disabled:
        proc.run(["systemctl", "--global", "enable", "--", *disabled], TIMEOUT)
    touched = [
        timer
        for timer in wanted
        if timer not in before
        or timer in disabled
        or f"{USER_UNITS}/{timer}" in changed
        or below(changed, f"{USER_UNITS}/{timer}.d/")
    ]
    if touched:
        proc.run(["systemctl", "--user", "restart", "--", *touched], TIMEOUT, user)
    return touched


def reload_sshd() -> list[str]:
    """Let sshd read its configuration again, once it is known to be right."""
    if not os.path.exists(at("/usr/sbin/sshd")):
        return []
    # sshd refuses even to test without its empty directory, which its unit makes.
    os.makedirs(at("/run/sshd"), mode=0o755, exist_ok=True)
    proc.run([at("/usr/sbin/sshd"), "-t"], TIMEOUT)
    socket = proc.attempt(["systemctl", "is-active", "ssh.socket"], TIMEOUT)
    if socket.stdout.strip() == "active":
        return []
    proc.run(["systemctl", "reload-or-restart", "ssh.service"], TIMEOUT)
    return ["ssh.service"]


def host_keys() -> list[str]:
    """The public host keys of the guest's sshd, Ed25519 first; made when there are none."""
    keys = _read_host_keys()
    if not keys and os.path.exists(at("/usr/sbin/sshd")):
        proc.run(["ssh-keygen", "-A"], TIMEOUT)
        keys = _read_host_keys()
    return keys


def _section(text: str, header: str) -> list[str]:
    found = []
    current = ""
    for line in text.splitlines():
        if line.startswith("["):
            current = line.strip()
        elif current == header and "=" in line and not line.startswith(("#", ";")):
            found.append(line.strip())
    return found


def _read_host_keys() -> list[str]:
    keys = []
    directory = at("/etc/ssh")
    for name in sorted(os.listdir(directory) if os.path.isdir(directory) else []):
        if name.startswith("ssh_host_") and name.endswith("_key.pub"):
            with open(f"{directory}/{name}", encoding="ascii") as file:
                keys.append(" ".join(file.read().split()[:2]))
    return sorted(keys, key=lambda key: (not key.startswith("ssh-ed25519"), key))


def _is_enabled(timer: str) -> bool:
    units = at(USER_UNITS)
    names = os.listdir(units) if os.path.isdir(units) else []
    wants = (name for name in names if name.endswith(".wants"))
    return any(os.path.lexists(f"{units}/{name}/{timer}") for name in wants)


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""
