"""Failures with a remedy, and the outline that every program of the node shares.

Exit codes: 0 done, 1 refused or failed, 64 wrong use or document, 75 somebody else is at
work on the same container (try again), 124 the time limit is over.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

FAILED = 1
WRONG_USE = 64
BUSY = 75
TIMED_OUT = 124


class BerthError(Exception):
    """One line that says what is wrong, a hint that says what to do, and the exit code."""

    def __init__(self, message: str, hint: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code


def die(message: str, hint: str = "", code: int = FAILED) -> NoReturn:
    """End the program with `message`; `hint` is the operator's next step."""
    raise BerthError(message, hint, code)


class Steps:
    """Remembers what is being done, so that a time limit can name the step that hung."""

    current = "starting"

    @classmethod
    def enter(cls, step: str) -> None:
        """Say that `step` begins."""
        cls.current = step


def limit_time(seconds: int) -> None:
    """Let the whole program end after `seconds`; the engine sets no limit of its own."""

    def over(_signal: int, _frame: FrameType | None) -> NoReturn:
        die(f"no end after {seconds} s while {Steps.current}", code=TIMED_OUT)

    signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)


def require_root() -> None:
    """Refuse to work without root; a tree under BERTH_ROOT needs none."""
    if os.geteuid() != 0 and not os.environ.get("BERTH_ROOT"):
        die("this needs root on the node", "connect as root, or let sudo run it")


def read_document() -> Any:
    """The JSON document on standard input."""
    try:
        return json.load(sys.stdin)
    except ValueError as error:
        die(f"standard input is not a JSON document: {error}", code=WRONG_USE)


def conclude(work: Callable[[], object]) -> int:
    """Run `work`, print its answer as one line of JSON, turn a failure into its exit code."""
    try:
        answer = work()
    except BerthError as failure:
        print(f"berth: {failure}", file=sys.stderr)
        if failure.hint:
            print(f"hint: {failure.hint}", file=sys.stderr)
        return failure.code
    except OSError as error:
        print(f"berth: {Steps.current}: {error}", file=sys.stderr)
        return FAILED
    print(json.dumps(answer, sort_keys=True))
    return 0
