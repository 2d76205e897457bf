"""Runs a function as the agent: in a child process that gave root up for good."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

from berth_guest.failure import BerthError, die
from berth_guest.proc import User


def as_user(user: User, work: Callable[[], Any]) -> Any:
    """What `work` returns (it must fit into JSON) when it runs with the rights of `user`."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _run_child(user, work, writer)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as stream:
            text = stream.read()
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.waitpid(pid, 0)
    if not text:
        die(f"the process that works as {user.name!r} died")
    answer = json.loads(text)
    if "failure" in answer:
        die(answer["failure"], answer["hint"])
    return answer["value"]


def _run_child(user: User, work: Callable[[], Any], writer: int) -> None:
    # Never return from here: the parent's clean-up must not run twice.
    code = 1
    try:
        signal.alarm(0)
        if os.geteuid() != user.uid:
            os.setgroups([])
            os.setgid(user.uid)
            os.setuid(user.uid)
        os.umask(0o022)
        try:
            answer = {"value": work()}
        except BerthError as failure:
            answer = {"failure": str(failure), "hint": failure.hint}
        except OSError as error:
            answer = {"failure": f"as {user.name!r}: {error}", "hint": ""}
        with os.fdopen(writer, "wb") as stream:
            stream.write(json.dumps(answer).encode())
        code = 0
    finally:
        os._exit(code)
