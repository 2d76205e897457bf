#!/usr/bin/python3 -IS
"""Sessions: one run of a harness, admitted by the gate, living in the unit that started it.

    berth session exec --kind KIND --name NAME -- COMMAND [ARGUMENT...]

Runs inside the session's own service (`Type=notify`): asks the gate once, says READY, then
becomes COMMAND, so that the service's time limit counts the run alone and the service's cgroup
is the session. COMMAND has nothing on standard input. Loads little: a session waits for it.

Exit codes: those of COMMAND; before it runs 75 not now, 69 cannot tell, 64 wrong use, 127 there
is no such command, 126 it cannot be executed.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from berth_guest.failure import CANNOT_TELL, NOT_NOW, WRONG_USE, BerthError, at, die, report

USAGE = "usage: berth session exec --kind loop|task|shell --name NAME -- COMMAND [ARGUMENT...]"
GATE = "/etc/berth/gate"
KINDS = ("loop", "shell", "task")
NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


def parse(argv: list[str]) -> tuple[str, str, list[str]]:
    """Kind, name and command. The command is taken as it is: its options are not ours."""
    options: dict[str, str] = {}
    if argv[:1] != ["exec"] or "--" not in argv:
        die(USAGE, code=WRONG_USE)
    separator = argv.index("--")
    words, command = argv[1:separator], argv[separator + 1 :]
    while len(words) >= 2 and words[0] in ("--kind", "--name"):
        options[words[0]] = words[1]
        words = words[2:]
    if words or not command or set(options) != {"--kind", "--name"}:
        die(USAGE, code=WRONG_USE)
    kind, name = options["--kind"], options["--name"]
    if kind not in KINDS or not name.strip(".-") or not set(name) <= NAME_CHARACTERS:
        die(f"wrong kind or name: {kind!r} {name!r}", USAGE, WRONG_USE)
    return kind, name, command


def ask_gate() -> None:
    """End unless the gate says go; anything but its own answers means that nobody can tell."""
    try:
        # Its standard output goes where ours goes: the unit's journal keeps the reason. A gate
        # that hangs is ended with the unit, by its start limit.
        gate = os.posix_spawn(at(GATE), [GATE, "check"], os.environ)
        code = os.waitstatus_to_exitcode(os.waitpid(gate, 0)[1])
    except OSError as error:
        die(f"the gate cannot be asked: {error}", "does /etc/berth/gate exist?", CANNOT_TELL)
    if code == NOT_NOW:
        # A service that ends before READY has failed for systemd, whatever its code: "not now"
        # is no failure of the loop. A gate that cannot tell says nothing, and the loop is red.
        notify("READY=1\nSTATUS=not now: the gate refuses another session")
        die("not now: the gate refuses another session", "see: berth gate check", NOT_NOW)
    if code != 0:
        die(f"cannot tell: the gate ended with {code}", "see: berth gate check", CANNOT_TELL)


def is_command(name: str) -> bool:
    """Whether `name` can be executed, looked for as exec does; asked before READY is said."""
    places = [""] if "/" in name else os.get_exec_path()
    return any(os.access(os.path.join(place, name), os.X_OK) for place in places)


def notify(state: str) -> None:
    """Tell the service manager `state`; without one (NOTIFY_SOCKET unset) nobody listens."""
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if not address:
        return
    import socket

    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.connect(address)
        channel.sendall(state.encode())


def become(command: list[str]) -> NoReturn:
    """Be the harness from now on."""
    try:
        os.execvp(command[0], command)  # noqa: S606 - that is what a session is
    except OSError as error:
        die(f"{command[0]} cannot be executed: {error.strerror}", code=126)


def main(argv: list[str]) -> int:
    """Ask, say READY, become the command."""
    try:
        kind, name, command = parse(argv)
        if not is_command(command[0]):
            die(f"there is no command {command[0]!r}", f"PATH is {os.environ.get('PATH')}", 127)
        # A harness that asks a question must not wait for an answer for ever.
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        ask_gate()
        notify(f"READY=1\nSTATUS={kind} {name} runs")
        become(command)
    except BerthError as failure:
        return report(failure)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
