"""Failures with a remedy, where things are, and the time limit of a whole program."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

FAILED = 1
WRONG_USE = 64
CANNOT_TELL = 69
NOT_NOW = 75
TIMED_OUT = 124

ROOT = os.environ.get("BERTH_ROOT", "").rstrip("/")


def at(path: str) -> str:
    """`path` of the guest as this process reaches it; BERTH_ROOT moves them all."""
    return ROOT + path


def read(path: str) -> str | None:
    """The text of a file of the guest, or None when it cannot be read."""
    try:
        with open(at(path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


class BerthError(Exception):
    """One line that says what is wrong, a hint that says what to do, and the exit code."""

    def __init__(self, message: str, hint: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code


def die(message: str, hint: str = "", code: int = FAILED) -> NoReturn:
    """End the program with `message`; `hint` is the next step."""
    raise BerthError(message, hint, code)


def report(failure: BerthError) -> int:
    """Say `failure` on standard error and return its exit code."""
    print(f"berth: {failure}", file=sys.stderr)
    if failure.hint:
        print(f"hint: {failure.hint}", file=sys.stderr)
    return failure.code


class Steps:
    """Remembers what is being done, so that a time limit can name the step that hung."""

    current = "starting"

    @classmethod
    def enter(cls, step: str) -> None:
        """Say that `step` begins."""
        cls.current = step


def limit_time(seconds: int) -> None:
    """Let the whole program end after `seconds`."""
    import signal

    def over(_signal: int, _frame: object) -> NoReturn:
        die(f"no end after {seconds} s while {Steps.current}", code=TIMED_OUT)

    signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
