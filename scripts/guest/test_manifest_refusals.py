"""manifest.py as a process: packages, wrong manifests, planted links, accounts that do not fit."""

from __future__ import annotations

import os
import unittest
from typing import Any

from test_guest_fixture import RECORD, UID, ManifestTest


class Packages(ManifestTest):
    """Installed when missing, with the network tested first."""

    def test_only_what_is_missing_is_installed(self) -> None:
        self.put("etc/apt/sources.list", "deb [trusted=yes] file:/opt/packages ./\n")
        done = self.apply(packages=["git", "jq"])
        self.assertEqual(done.answer["installed"], ["jq"])
        apt = [call for call in self.calls() if call.startswith("apt-get")]
        self.assertTrue(apt[0].endswith(" update"))
        self.assertTrue(apt[1].endswith("--no-install-recommends install -- jq"))

    def test_no_route_is_named_as_the_network(self) -> None:
        self.put("etc/apt/sources.list.d/debian.sources", "URIs: http://deb.debian.org/debian\n")
        done = self.apply(packages=["jq"])
        self.assert_fails(done, 1, "network: this guest has no default route", "vlan")
        self.assertFalse(any(call.startswith("apt-get") for call in self.calls()))
        self.assertFalse(self.exists("etc/berth/gate"))

    def test_no_name_service_is_named_as_the_network(self) -> None:
        self.put("etc/apt/sources.list", "deb http://mirror.invalid/debian trixie main\n")
        self.put("proc/net/route", "Iface Destination Gateway\neth0 00000000 0100000A\n")
        done = self.apply(packages=["jq"])
        self.assert_fails(done, 1, "network: this guest cannot look up mirror.invalid")

    def test_a_package_that_apt_does_not_know_is_named(self) -> None:
        self.fake("apt-get", 'case "$*" in *install*) echo "E: no jq" >&2; exit 100 ;; esac')
        self.assert_fails(self.apply(packages=["jq"]), 1, "packages: apt-get", "E: no jq")

    def test_a_package_that_does_not_appear_is_an_error(self) -> None:
        self.fake("apt-get")
        self.assert_fails(self.apply(packages=["jq"]), 1, "installed no such package: jq")


class Refusals(ManifestTest):
    """Nothing is changed by a wrong manifest, nor through a planted link."""

    def test_faults_of_the_manifest(self) -> None:
        def file(path: str, **fields: Any) -> dict[str, Any]:
            return {"files": {path: {"mode": "0644", "content": "", **fields}}, "timers": []}

        cases: list[tuple[dict[str, Any], str]] = [
            (file("/etc/shadow"), "files['/etc/shadow']: no manifest may write this file"),
            (file("/etc/sudoers.d/bob"), "no manifest may write this file"),
            (file("/usr/lib/berth/x/gate.py"), "no manifest may write this file"),
            (file("/home/bob/../../etc/shadow"), "an absolute path without `.` and `..`"),
            (file("etc/x"), "an absolute path"),
            (file("/etc//shadow"), "an absolute path"),
            (file("/etc/x", mode="4755"), "files['/etc/x'].mode: expected a mode"),
            (file("/etc/x", mode="0666"), "only the owner may write"),
            (file("/etc/x", owner="bob"), "owner: expected root or agent"),
            (file("/home/bob/x"), "expected agent below /home/bob, root elsewhere"),
            (file("/etc/x", owner="agent"), "expected agent below /home/bob, root elsewhere"),
            (file("/etc/x", content=None), "content: expected a text"),
            (file("/etc/x", colour=1), "files['/etc/x'].colour: unknown key"),
            ({"agent": "alice"}, "agent: expected the user's name 'bob'"),
            ({"user": {"name": "root", "uid": 0, "home": "/root"}, "agent": "root"}, "user.uid"),
            ({"packages": ["-o"]}, "packages[0]: expected a name"),
            ({"timers": ["x.timer"]}, "timers with their unit in `files`"),
            ({"mask": ["../x"]}, "mask[0]: expected a name"),
            ({"colour": 1}, "colour: unknown key"),
        ]
        for changes, expected in cases:
            with self.subTest(expected):
                self.assert_fails(self.apply(**changes), 64, expected)
        self.assert_fails(self.apply("{"), 64, "not a JSON document")
        self.assertEqual(self.calls(), [])
        self.assertFalse(self.exists(RECORD))

    def test_a_link_in_the_home_leads_nowhere(self) -> None:
        (self.root / "home/bob/docs").symlink_to(self.root / "etc")
        path = "/home/bob/docs/passwd"
        files = {path: {"mode": "0644", "content": "x", "owner": "agent"}}
        before = self.text("etc/passwd")
        done = self.apply(files=files, timers=[])
        self.assert_fails(done, 1, f"{path} is not written", "/home/bob/docs is a link")
        self.assertEqual(self.text("etc/passwd"), before)

    def test_a_link_in_place_of_a_file_is_replaced_not_followed(self) -> None:
        (self.root / "home/bob/notes.md").symlink_to(self.root / "etc/passwd")
        before = self.text("etc/passwd")
        self.assertEqual(self.apply().code, 0)
        self.assertEqual(self.text("etc/passwd"), before)
        self.assertEqual(self.text("home/bob/notes.md"), "notes\n")
        self.assertFalse((self.root / "home/bob/notes.md").is_symlink())

    def test_a_link_that_was_one_of_our_files_is_not_followed_on_removal(self) -> None:
        manifest = self.settled()
        (self.root / "home/bob/notes.md").unlink()
        (self.root / "home/bob/notes.md").symlink_to(self.root / "etc/passwd")
        del manifest["files"]["/home/bob/notes.md"]
        self.assertEqual(self.apply(manifest).code, 0)
        self.assertTrue(self.exists("etc/passwd"))
        self.assertTrue(self.exists("home/bob/notes.md"))

    def test_a_pipe_in_place_of_a_file_does_not_hang(self) -> None:
        os.mkfifo(self.root / "home/bob/notes.md")
        self.assertEqual(self.apply().code, 0)
        self.assertEqual(self.text("home/bob/notes.md"), "notes\n")

    def test_a_failure_while_writing_leaves_every_file_as_it_was(self) -> None:
        manifest = self.settled()
        self.changed(manifest, "/etc/berth/gate", "new\n")
        self.changed(manifest, "/etc/berth/zeta/x", "new\n")
        self.put("etc/berth/zeta", "in the way")
        self.assert_fails(self.apply(manifest), 1, "/etc/berth/zeta is a link or no directory")
        self.assertEqual(self.text("etc/berth/gate"), "#!/bin/sh\n")
        self.assertEqual(sorted(os.listdir(self.root / "etc/berth")), ["gate", "zeta"])

    def test_accounts_that_do_not_fit(self) -> None:
        root = "root:x:0:0::/root:/bin/sh\n"
        cases = [
            ("etc/passwd", f"{root}bob:x:1000:1000::/home/bob:/bin/sh\n", "exists with uid 1000"),
            ("etc/passwd", f"{root}eve:x:{UID}:{UID}::/home/eve:/bin/sh\n", "the user 'eve'"),
            ("etc/group", "sudo:x:27:carol,bob\n", "is in the group 'sudo'"),
        ]
        for path, text, expected in cases:
            with self.subTest(expected):
                before = self.text(path)
                self.put(path, text)
                self.assert_fails(self.apply(), 1, expected)
                self.put(path, before)
        self.assertFalse(self.exists("etc/berth/gate"))

    def test_a_home_that_is_not_mounted_or_not_the_agents(self) -> None:
        (self.root / "home/bob").rmdir()
        self.assert_fails(self.apply(), 1, "/home/bob is not there", "is the home mounted?")

    def test_a_hung_command_ends_with_the_step_that_hung(self) -> None:
        self.fake("loginctl", "sleep 20")
        done = self.run_script("guest/manifest.py", "--deadline", "1", stdin=self.manifest())
        self.assert_fails(done, 124, "no end after 1 s while running `loginctl enable-linger bob`")


if __name__ == "__main__":
    unittest.main()
