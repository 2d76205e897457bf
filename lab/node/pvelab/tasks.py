"""Proxmox's tasks: a UPID, a log whose last line is the outcome, and who is still running."""

from __future__ import annotations

import re
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from .errors import PveError

Work = Callable[["Task"], None]
_UPID = re.compile(
    r"UPID:([^:]+):([0-9A-F]{8}):([0-9A-F]{8,9}):([0-9A-F]{8}):([^:/]+):([^:/]*):([^:/]+):"
)
_current = threading.local()


def thread_start_ticks(thread: int) -> int:
    """When a thread began, in clock ticks since boot; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{thread}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[19])


class Task:
    """One task: what it prints goes into its log, and on a command line to the terminal too."""

    def __init__(self, upid: str, log: Path, echo: bool) -> None:
        self.upid = upid
        self.warnings = 0
        self._echo = echo
        log.parent.mkdir(parents=True, exist_ok=True)
        self._file = log.open("a", buffering=1)

    def print(self, text: str) -> None:
        """One line of progress."""
        self._file.write(text + "\n")
        if self._echo:
            print(text, flush=True)

    def warn(self, text: str) -> None:
        """Perl's warn: a line on standard error that changes no outcome."""
        self._file.write(text + "\n")
        if self._echo:
            print(text, file=sys.stderr, flush=True)

    def log_warn(self, text: str) -> None:
        """A counted warning: the task ends with WARNINGS instead of OK."""
        self.warnings += 1
        self.warn(f"WARN: {text}")

    def run(self, work: Work) -> str:
        """Does the work and writes the outcome, which is returned as `exitstatus` shows it."""
        _current.task = self
        try:
            work(self)
            outcome = f"WARNINGS: {self.warnings}" if self.warnings else "OK"
        except PveError as fault:
            outcome = " ".join(fault.text().split("\n")).strip()
            if self._echo:
                print(fault.text(), file=sys.stderr, flush=True)
        except Exception as fault:
            traceback.print_exc()
            outcome = f"internal error: {fault!r}"
        finally:
            _current.task = None
        good = outcome == "OK" or outcome.startswith("WARNINGS: ")
        self._file.write(f"TASK {outcome}\n" if good else f"TASK ERROR: {outcome}\n")
        self._file.close()
        return outcome


def current() -> Task | None:
    """The task that this thread runs."""
    return getattr(_current, "task", None)


class Tasks:
    """The task log of the node."""

    def __init__(self, directory: Path, node: str) -> None:
        self._directory = directory
        self._node = node

    def spawn(self, kind: str, ident: str, user: str, work: Work) -> str:
        """Starts a task in the background and returns its UPID."""
        ready: list[str] = []
        known = threading.Event()

        def body() -> None:
            task = self._new(kind, ident, user, echo=False)
            ready.append(task.upid)
            known.set()
            task.run(work)

        threading.Thread(target=body, name=kind).start()
        known.wait()
        return ready[0]

    def run(self, kind: str, ident: str, user: str, work: Work) -> tuple[str, str]:
        """Runs a task in the foreground, as the command line does; returns UPID and outcome."""
        outer = current()
        if outer is not None:
            # Proxmox runs a task that a task starts inside it; its failure is the outer one's.
            work(outer)
            return outer.upid, "OK"
        task = self._new(kind, ident, user, echo=True)
        return task.upid, task.run(work)

    def _new(self, kind: str, ident: str, user: str, echo: bool) -> Task:
        thread = threading.get_native_id()
        upid = (
            f"UPID:{self._node}:{thread:08X}:{thread_start_ticks(thread):08X}"
            f":{int(time.time()):08X}:{kind}:{ident}:{user}:"
        )
        return Task(upid, self._path(upid), echo)

    def _path(self, upid: str) -> Path:
        match = _UPID.fullmatch(upid)
        if match is None:
            raise PveError(f"unable to parse worker upid '{upid}'", 400)
        return self._directory / match[4][-1] / upid

    def status(self, upid: str) -> dict[str, object]:
        """The task as GET tasks/{upid}/status shows it."""
        path = self._path(upid)
        match = _UPID.fullmatch(upid)
        if match is None or not path.exists():
            raise PveError("no such task", 400)
        user, _, token = match[7].partition("!")
        result: dict[str, object] = {
            "upid": upid,
            "node": match[1],
            "pid": int(match[2], 16),
            "pstart": int(match[3], 16),
            "starttime": int(match[4], 16),
            "type": match[5],
            "id": match[6],
            "user": user,
        }
        if token:
            result["tokenid"] = token
        # The log is read after the liveness check: a task that ends in between has its outcome.
        alive = thread_start_ticks(int(match[2], 16)) == int(match[3], 16)
        outcome = self._outcome(path)
        if outcome is None and alive:
            return {**result, "status": "running"}
        return {**result, "status": "stopped", "exitstatus": outcome or "unexpected status"}

    @staticmethod
    def _outcome(path: Path) -> str | None:
        last = path.read_text().rstrip("\n").rpartition("\n")[2]
        if not last.startswith("TASK "):
            return None
        return last.removeprefix("TASK ").removeprefix("ERROR: ")

    def log(self, upid: str, start: int, limit: int) -> tuple[list[dict[str, object]], int]:
        """A page of the log's lines, numbered from 1, and how many there are."""
        self.status(upid)
        lines = self._path(upid).read_text().splitlines()
        page = lines[start : start + limit] if limit else lines[start:]
        numbered: list[dict[str, object]] = [
            {"n": start + i, "t": line} for i, line in enumerate(page, 1)
        ]
        return numbered or [{"n": 1, "t": "no content"}], len(lines)

    def list(self) -> list[dict[str, object]]:
        """All tasks, the newest first."""
        found = [self.status(path.name) for path in self._directory.glob("*/UPID:*")]
        return sorted(found, key=lambda task: -int(str(task["starttime"])))
