"""`berth session exec` as a process: the gate's word, READY, and the command itself."""

from __future__ import annotations

import socket
import unittest
from typing import Any

from test_guest_fixture import GuestTest
from test_support import SCRIPTS


class SessionExec(GuestTest):
    """One run."""

    def setUp(self) -> None:
        super().setUp()
        self.gate(0)

    def gate(self, code: int) -> None:
        self.put("etc/berth/gate", f'#!/bin/sh\necho "gate $*"; exit {code}\n', 0o755)

    def exec(self, *command: str, kind: str = "loop", **env: str) -> Any:
        berth = [str(SCRIPTS / "guest/berth")]
        return self.run_command(
            [*berth, "session", "exec", "--kind", kind, "--name", "hello", "--", *command],
            stdin="typed",
            env=env,
        )

    def test_the_command_is_run_with_its_exit_code_and_nothing_to_read(self) -> None:
        done = self.exec("sh", "-c", 'cat; echo "ran $1"; exit 7', "sh", "--name")
        self.assertEqual((done.code, done.stdout), (7, "gate check\nran --name\n"), done.stderr)

    def test_each_answer_of_the_gate(self) -> None:
        for code, expected in ((75, 75), (69, 69), (64, 69), (1, 69), (127, 69)):
            with self.subTest(code):
                self.gate(code)
                done = self.exec("touch", "ran")
                self.assertEqual(done.code, expected, done.stderr)
                self.assertFalse(self.exists("ran"))

    def test_a_missing_gate_is_cannot_tell(self) -> None:
        (self.root / "etc/berth/gate").unlink()
        self.assert_fails(self.exec("touch", "ran"), 69, "the gate cannot be asked")

    def test_ready_is_said_on_a_path_and_on_an_abstract_socket(self) -> None:
        path = str(self.root / "notify")
        for address, name in ((path, path), ("\0" + path, "@" + path)):
            with (
                self.subTest(name),
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener,
            ):
                listener.bind(address)
                listener.settimeout(10)
                done = self.exec("sh", "-c", 'echo "[$NOTIFY_SOCKET]"', NOTIFY_SOCKET=name)
                self.assertEqual(done.stdout, "gate check\n[]\n", done.stderr)
                self.assertEqual(listener.recv(100), b"READY=1\nSTATUS=loop hello runs")

    def test_not_now_says_ready_first_so_that_systemd_counts_no_failure(self) -> None:
        self.gate(75)
        path = str(self.root / "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(path)
            listener.settimeout(10)
            self.assertEqual(self.exec("touch", "ran", NOTIFY_SOCKET=path).code, 75)
            self.assertTrue(listener.recv(100).startswith(b"READY=1\nSTATUS=not now"))
        self.assertFalse(self.exists("ran"))

    def test_ready_is_not_said_when_the_gate_cannot_tell(self) -> None:
        self.gate(69)
        path = str(self.root / "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(path)
            listener.setblocking(False)
            self.exec("true", NOTIFY_SOCKET=path)
            self.assertRaises(BlockingIOError, listener.recv, 100)

    def test_a_missing_command_is_127(self) -> None:
        self.assert_fails(self.exec("no-such-command"), 127, "no command 'no-such-command'")

    def test_wrong_use_is_64(self) -> None:
        berth = [str(SCRIPTS / "guest/berth")]
        cases = [
            [],
            ["sing"],
            ["session"],
            ["session", "exec", "--kind", "loop", "--name", "x"],
            ["session", "exec", "--kind", "loop", "--name", "x", "--"],
            ["session", "exec", "--kind", "loop", "--name", "../x", "--", "true"],
            ["session", "exec", "--kind", "loop", "--", "true"],
            ["session", "exec", "--kind", "loop", "--name", "x", "--more", "1", "--", "true"],
            ["session", "exec", "--kind", "dance", "--name", "x", "--", "true"],
        ]
        for arguments in cases:
            with self.subTest(arguments):
                self.assert_fails(self.run_command([*berth, *arguments]), 64, "usage: berth")


if __name__ == "__main__":
    unittest.main()
