"""manifest.py as a process: what it brings, and what it leaves alone."""

from __future__ import annotations

import json
import os
import unittest

from test_guest_fixture import RECORD, TIMER, UID, ManifestTest


class FirstRun(ManifestTest):
    """From a bare guest."""

    def test_everything_is_placed_enabled_and_started_once(self) -> None:
        done = self.apply()
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(
            done.answer,
            {
                "changed": [*sorted(self.manifest()["files"]), "tmp.mount"],
                "hostKeys": ["ssh-ed25519 AAAA", "ssh-rsa BBBB"],
                "installed": [],
                "removed": [],
                "restarted": [TIMER],
                "warnings": [],
            },
        )
        self.assertEqual(
            [call for call in self.calls() if "dpkg" not in call],
            [
                "systemctl mask -- tmp.mount",
                "loginctl enable-linger bob",
                f"systemctl start user@{UID}.service",
                "systemctl --user daemon-reload",
                f"systemctl --global enable -- {TIMER}",
                f"systemctl --user restart -- {TIMER}",
            ],
        )

    def test_owners_modes_parents_and_the_skeleton(self) -> None:
        self.settled()
        gate, notes = self.root / "etc/berth/gate", self.root / "home/bob/notes.md"
        self.assertEqual(gate.stat().st_mode & 0o7777, 0o755)
        self.assertEqual(gate.stat().st_uid, os.geteuid())
        self.assertEqual(gate.parent.stat().st_mode & 0o7777, 0o755)
        self.assertEqual(notes.stat().st_mode & 0o7777, 0o600)
        self.assertEqual((notes.stat().st_uid, notes.read_text()), (UID, "notes\n"))
        profile = self.root / "home/bob/.profile"
        self.assertEqual((profile.stat().st_uid, profile.read_text()), (UID, "# profile\n"))

    def test_a_missing_account_is_made_with_its_number(self) -> None:
        self.put("etc/passwd", "root:x:0:0::/root:/bin/sh\n")
        self.fake("groupadd")
        self.fake("useradd")
        self.assertEqual(self.apply().code, 0)
        calls = self.calls()
        self.assertIn(f"groupadd --gid {UID} bob", calls)
        self.assertIn(
            f"useradd --uid {UID} --gid {UID} --home-dir /home/bob --no-create-home "
            "--shell /bin/bash bob",
            calls,
        )


class LaterRuns(ManifestTest):
    """Only what changed is touched."""

    def test_a_second_run_changes_nothing_and_starts_one_process(self) -> None:
        self.settled()
        before = (self.root / RECORD).stat().st_mtime_ns
        done = self.apply()
        self.assertEqual(done.code, 0, done.stderr)
        touched = {key: value for key, value in done.answer.items() if key != "hostKeys" and value}
        self.assertEqual(touched, {})
        self.assertEqual([call.split()[0] for call in self.calls()], ["dpkg-query"])
        self.assertEqual((self.root / RECORD).stat().st_mtime_ns, before)

    def test_a_changed_timer_is_restarted_and_a_changed_service_is_not(self) -> None:
        manifest = self.settled()
        self.changed(manifest, f"/etc/systemd/user/{TIMER}", "other\n")
        self.assertEqual(self.apply(manifest).answer["restarted"], [TIMER])
        self.calls()
        self.put("calls", mode=0o666)
        self.changed(manifest, "/etc/systemd/user/berth-loop-hello.service", "other\n")
        self.assertEqual(self.apply(manifest).answer["restarted"], [])
        self.assertEqual(self.calls()[1:], ["systemctl --user daemon-reload"])

    def test_a_slice_is_brought_to_its_changed_limits_whether_it_runs_or_not(self) -> None:
        manifest = self.settled()
        text = "[Unit]\nDescription=d\n\n[Slice]\n# why\nMemoryHigh=5\nTasksMax=7\n"
        self.changed(manifest, "/etc/systemd/user/berth-sessions.slice", text)
        self.assertEqual(self.apply(manifest).code, 0)
        self.assertEqual(
            self.calls()[1:],
            [
                "systemctl --user daemon-reload",
                "systemctl --user set-property --runtime -- "
                "berth-sessions.slice MemoryHigh=5 TasksMax=7",
            ],
        )

    def test_a_system_unit_reloads_the_system_manager_alone(self) -> None:
        manifest = self.settled()
        self.changed(manifest, "/etc/systemd/system/user@.service.d/berth.conf", "d\n")
        self.assertEqual(self.apply(manifest).code, 0)
        self.assertEqual(self.calls()[1:], ["systemctl daemon-reload"])

    def test_sshd_is_tested_then_reloaded(self) -> None:
        manifest = self.changed(self.settled(), "/etc/ssh/sshd_config.d/10-berth.conf", "x\n")
        self.assertEqual(self.apply(manifest).answer["restarted"], ["ssh.service"])
        reload = "systemctl reload-or-restart ssh.service"
        self.assertEqual(self.calls()[1:], ["sshd", "systemctl is-active ssh.socket", reload])

    def test_a_wrong_sshd_config_is_not_loaded_and_tried_again(self) -> None:
        manifest = self.changed(self.settled(), "/etc/ssh/sshd_config.d/10-berth.conf", "x\n")
        self.put("usr/sbin/sshd", "#!/bin/sh\necho 'Bad option: x' >&2; exit 255\n", 0o755)
        self.assert_fails(self.apply(manifest), 1, "Bad option: x")
        self.assertNotIn("systemctl reload-or-restart ssh.service", self.calls())
        self.put("usr/sbin/sshd", "#!/bin/sh\n", 0o755)
        self.put("calls", mode=0o666)
        self.assertEqual(self.apply(manifest).answer["restarted"], ["ssh.service"])

    def test_what_left_the_manifest_is_stopped_and_removed(self) -> None:
        manifest = self.settled()
        gone = [f"/etc/systemd/user/{TIMER}", "/home/bob/notes.md"]
        for path in gone:
            del manifest["files"][path]
        done = self.apply({**manifest, "timers": [], "mask": []})
        self.assertEqual(done.answer["removed"], gone)
        self.assertFalse(self.exists(f"etc/systemd/user/{TIMER}"))
        self.assertFalse(self.exists("home/bob/notes.md"))
        self.assertEqual(
            self.calls()[1:],
            [
                f"systemctl --user stop -- {TIMER}",
                f"systemctl --global disable -- {TIMER}",
                "systemctl unmask -- tmp.mount",
                "systemctl --user daemon-reload",
            ],
        )

    def test_an_edited_file_that_left_the_manifest_stays_with_a_warning(self) -> None:
        manifest = self.settled()
        del manifest["files"]["/home/bob/notes.md"]
        (self.root / "home/bob/notes.md").write_text("the agent's own\n")
        done = self.apply(manifest)
        self.assertIn(
            "/home/bob/notes.md left the config but was edited", done.answer["warnings"][0]
        )
        self.assertEqual(self.text("home/bob/notes.md"), "the agent's own\n")
        self.assertEqual(self.apply(manifest).answer["warnings"], [])

    def test_a_run_that_was_cut_off_is_completed_by_the_next(self) -> None:
        manifest = self.changed(self.settled(), f"/etc/systemd/user/{TIMER}", "other\n")
        self.fake("systemctl", "exit 1")
        self.assert_fails(self.apply(manifest), 1, "daemon-reload` failed")
        self.assertEqual(self.text(f"etc/systemd/user/{TIMER}"), "other\n")
        self.fake("systemctl")
        done = self.apply(manifest)
        self.assertEqual((done.answer["changed"], done.answer["restarted"]), ([], [TIMER]))
        self.assertEqual(json.loads(self.text(RECORD))["unfinished"], [])

    def test_a_mode_that_somebody_changed_is_put_back(self) -> None:
        self.settled()
        (self.root / "etc/berth/gate").chmod(0o777)
        self.assertEqual(self.apply().answer["changed"], ["/etc/berth/gate"])
        self.assertEqual((self.root / "etc/berth/gate").stat().st_mode & 0o7777, 0o755)


if __name__ == "__main__":
    unittest.main()
