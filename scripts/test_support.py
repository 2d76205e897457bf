"""A make-believe node or guest under a temporary directory, for tests without root.

The programs under test run as processes, with BERTH_ROOT pointing there and fakes of the
system's commands first on PATH. Each fake writes its call to a log.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, NamedTuple

SCRIPTS = Path(__file__).resolve().parent

_FAKE = """#!/bin/sh
printf '%s\\n' "{name} $*" >>"$BERTH_ROOT/calls"
{body}
"""


class Outcome(NamedTuple):
    """How a program ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def answer(self) -> Any:
        """The JSON that it printed."""
        return json.loads(self.stdout)


class SandboxTest(unittest.TestCase):
    """A test with a root directory of its own."""

    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="berth-test-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        # The agent's own child process must be able to reach its home.
        self.root.chmod(0o755)
        self.bin = self.root / "fakes"
        self.bin.mkdir()

    def put(self, path: str, text: str = "", mode: int = 0o644) -> Path:
        """Write a file of the sandbox, with its parents."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        target.chmod(mode)
        return target

    def text(self, path: str) -> str:
        """What a file of the sandbox holds."""
        return (self.root / path.lstrip("/")).read_text(encoding="utf-8")

    def exists(self, path: str) -> bool:
        """Whether a path of the sandbox is there."""
        return os.path.lexists(self.root / path.lstrip("/"))

    def fake(self, name: str, body: str = "") -> None:
        """Put a fake of command `name` on PATH; `body` is shell, with $BERTH_ROOT set."""
        program = self.bin / name
        program.write_text(_FAKE.format(name=name, body=body), encoding="utf-8")
        program.chmod(0o755)

    def calls(self) -> list[str]:
        """The calls of fakes since the last time, in order."""
        log = self.root / "calls"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def run_script(
        self, script: str, *arguments: str, stdin: Any = None, env: dict[str, str] | None = None
    ) -> Outcome:
        """Run a program of scripts/ as a process; `stdin` is given to it as JSON."""
        return self.run_command(
            [sys.executable, "-IS", str(SCRIPTS / script), *arguments], stdin, env
        )

    def run_command(
        self, argv: list[str], stdin: Any = None, env: dict[str, str] | None = None
    ) -> Outcome:
        """Run any command inside the sandbox."""
        environment = {
            "BERTH_ROOT": str(self.root),
            "PATH": f"{self.bin}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **(env or {}),
        }
        given = stdin if isinstance(stdin, str) else json.dumps(stdin)
        done = subprocess.run(
            argv,
            input=given,
            capture_output=True,
            text=True,
            env=environment,
            cwd=self.root,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def assert_fails(self, outcome: Outcome, code: int, *parts: str) -> None:
        """`outcome` ended with `code`, without an answer or a traceback, and said `parts`."""
        self.assertEqual(outcome.code, code, outcome.stderr)
        self.assertEqual(outcome.stdout, "")
        self.assertNotIn("Traceback", outcome.stderr)
        self.assertTrue(outcome.stderr.startswith("berth: "), outcome.stderr)
        for part in parts:
            self.assertIn(part, outcome.stderr)
