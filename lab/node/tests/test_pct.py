"""`pct` and the config file: every row of pitfalls 8.1 that needs no kernel."""

from __future__ import annotations

import json
import unittest

from .support import RAW, NodeTest


class RawKeys(NodeTest):
    def setUp(self) -> None:
        super().setUp()
        self.create()
        self.append(RAW)

    def test_raw_keys_win_at_start(self) -> None:
        self.pct_ok("start 201")
        self.assertEqual(self.cgroup("memory.high"), "419430400")
        self.assertEqual(self.cgroup("memory.max"), "536870912")
        self.assertEqual(self.cgroup("pids.max"), "256")
        generated = self.node.path("/var/lib/lxc/201/config").read_text()
        self.assertLess(
            generated.index("memory.high = 532676608"), generated.index("memory.high = 419430400")
        )

    def test_the_last_of_two_equal_keys_wins(self) -> None:
        self.append("lxc.cgroup2.pids.max: 99\n")
        self.pct_ok("start 201")
        self.assertEqual(self.cgroup("pids.max"), "99")
        self.assertEqual(self.conf.read_text().count("pids.max"), 2)

    def test_only_memory_rewrites_memory_high(self) -> None:
        self.pct_ok("start 201")
        for change in ("--cores 1", "--swap 64", "--description x", "--onboot 1"):
            self.pct_ok(f"set 201 {change}")
            self.assertEqual(self.cgroup("memory.high"), "419430400", change)
        self.assertEqual(self.cgroup("memory.swap.max"), str(64 << 20))
        self.pct_ok("set 201 --memory 640")
        self.assertEqual(self.cgroup("memory.high"), "665845760")
        self.assertEqual(self.cgroup("memory.max"), "671088640")
        self.pct_ok("reboot 201")
        self.assertEqual(self.cgroup("memory.high"), "419430400")

    def test_raw_keys_survive_set_in_order(self) -> None:
        self.pct_ok("set 201 --cores 2")
        self.assertTrue(self.conf.read_text().endswith(RAW))

    def test_an_unknown_raw_key_is_dropped_at_the_next_write(self) -> None:
        self.append("lxc.foo.bar: 1\n")
        code, _, err = self.pct("config 201")
        self.assertEqual(code, 0)
        self.assertEqual(err, "vm 201 - unable to parse config: lxc.foo.bar: 1\n")
        self.assertIn("lxc.foo.bar", self.conf.read_text())
        self.pct_ok("set 201 --cores 2")
        self.assertNotIn("lxc.foo.bar", self.conf.read_text())

    def test_an_unknown_cgroup_key_is_kept_and_stops_the_start(self) -> None:
        self.append("lxc.cgroup2.nonexistent.knob: 5\n")
        self.pct_ok("set 201 --cores 2")
        code, _, err = self.pct("start 201")
        self.assertEqual(code, 255)
        self.assertIn('Failed to set "nonexistent.knob" to "5"', err)

    def test_a_missing_mount_source_stops_the_start(self) -> None:
        self.node.path("/rpool/agents/bob").rmdir()
        code, _, err = self.pct("start 201")
        self.assertEqual(code, 255)
        self.assertIn('Failed to mount "/rpool/agents/bob" onto ', err)
        self.assertIn("srv/agent", err)

    def test_config_shows_them_last_and_pending_never(self) -> None:
        out = self.pct_ok("config 201")
        self.assertTrue(out.endswith(RAW))
        self.assertNotIn("lxc.", self.pct_ok("pending 201"))

    def test_destroy_keeps_the_bound_data(self) -> None:
        note = self.node.path("/rpool/agents/bob/note")
        note.write_text("mine")
        self.pct_ok("set 201 --mp0 /rpool/agents/bob,mp=/srv/b")
        self.pct_ok("destroy 201 --purge 1")
        self.assertEqual(note.read_text(), "mine")
        self.assertEqual(self.node.storage.volumes.names(), [])


class Comments(NodeTest):
    def test_a_comment_becomes_the_description_and_moves_to_the_top(self) -> None:
        self.create()
        head, _, tail = self.conf.read_text().partition("memory:")
        self.conf.write_text(f"{head}# managed: do not edit: 100%\nmemory:{tail}")
        self.assertIn(
            "description:  managed%3A do not edit%3A 100%25%0A\n", self.pct_ok("config 201")
        )
        self.pct_ok("set 201 --cores 2")
        self.assertTrue(self.conf.read_text().startswith("# managed%3A do not edit%3A 100%25\n"))
        self.pct_ok(["set", "201", "--description", "x"])
        self.assertTrue(self.conf.read_text().startswith("#x\n"))
        self.assertNotIn("managed", self.conf.read_text())


class Snapshots(NodeTest):
    def setUp(self) -> None:
        super().setUp()
        self.create()
        self.append(RAW)

    def test_a_mount_entry_allows_snapshots_and_a_mount_point_does_not(self) -> None:
        self.pct_ok("start 201")
        self.pct_ok("snapshot 201 s1")
        self.pct_ok("stop 201")
        self.pct_ok("set 201 --mp0 /rpool/agents/bob,mp=/srv/b")
        code, _, err = self.pct("snapshot 201 s2")
        self.assertEqual((code, err), (255, "snapshot feature is not available\n"))
        self.pct_ok("delsnapshot 201 s1")
        self.assertNotIn("[s1]", self.conf.read_text())

    def test_a_key_after_a_snapshot_section_comes_back_on_rollback(self) -> None:
        self.pct_ok("snapshot 201 s1")
        self.append("lxc.cgroup2.pids.max: 99\n")
        self.assertNotIn("99", self.pct_ok("config 201"))
        self.pct_ok("start 201")
        self.assertEqual(self.cgroup("pids.max"), "256")
        self.pct_ok("set 201 --cores 2")
        section = self.conf.read_text().partition("[s1]")[2]
        self.assertIn("lxc.cgroup2.pids.max: 99", section)
        self.pct_ok("rollback 201 s1")
        main = self.conf.read_text().partition("[s1]")[0]
        self.assertIn("lxc.cgroup2.pids.max: 99", main)

    def test_rollback_brings_raw_keys_and_files_back_but_not_bound_data(self) -> None:
        root = self.node.storage.volumes.path("subvol-201-disk-0")
        bound = self.node.path("/rpool/agents/bob/note")
        for path in (root / "note", bound):
            path.write_text("before")
        self.pct_ok("snapshot 201 s1")
        for path in (root / "note", bound):
            path.write_text("after")
        self.conf.write_text(self.conf.read_text().replace("419430400", "1", 1))
        self.pct_ok("rollback 201 s1")
        self.assertEqual((root / "note").read_text(), "before")
        self.assertEqual(bound.read_text(), "after")
        self.assertIn("memory.high: 419430400", self.conf.read_text().partition("[s1]")[0])

    def test_only_the_newest_snapshot_can_be_rolled_back_to(self) -> None:
        self.pct_ok("snapshot 201 s1")
        self.pct_ok("snapshot 201 s2")
        code, _, err = self.pct("rollback 201 s1")
        self.assertEqual(code, 255)
        self.assertIn("'s1' is not most recent snapshot", err)
        listing = self.pct_ok("listsnapshot 201")
        self.assertRegex(listing, r"^`-> s1 .*\n `-> s2 .*\n  `-> current")


class PendingChanges(NodeTest):
    def setUp(self) -> None:
        super().setUp()
        self.create()
        self.pct_ok("start 201")

    def test_features_wait_for_the_next_start_between_main_and_snapshots(self) -> None:
        self.pct_ok("snapshot 201 s1")
        self.pct_ok("set 201 --features nesting=1,keyctl=1")
        text = self.conf.read_text()
        self.assertLess(text.index("[pve:pending]"), text.index("[s1]"))
        self.assertIn("features: nesting=1,keyctl=1", self.pct_ok("config 201"))
        self.assertIn("features: nesting=1\n", self.pct_ok("config 201 --current 1"))
        out = self.pct_ok("pending 201")
        self.assertIn("cur features: nesting=1\nnew features: nesting=1,keyctl=1\n", out)
        self.pct_ok("reboot 201")
        self.assertNotIn("[pve:pending]", self.conf.read_text())
        self.assertIn("features: nesting=1,keyctl=1", self.pct_ok("config 201 --current 1"))

    def test_a_raw_key_in_the_pending_section_breaks_pct_pending(self) -> None:
        self.pct_ok("set 201 --nameserver 10.0.0.1")
        self.append("lxc.cgroup2.pids.max: 99\n")
        self.assertNotIn("99", self.pct_ok("config 201"))
        self.pct_ok("set 201 --onboot 1")
        self.assertIn("lxc.cgroup2.pids.max: 99", self.conf.read_text())
        code, _, err = self.pct("pending 201")
        self.assertEqual(code, 255)
        self.assertTrue(err.startswith("400 Result verification failed\n"))
        self.assertIn("].pending: type check ('string') failed - got ARRAY", err)

    def test_a_running_container_takes_at_once_what_proxmox_takes_at_once(self) -> None:
        self.pct_ok("set 201 --hostname carol --tags b;a --cpulimit 1 --cpuunits 50")
        self.assertNotIn("[pve:pending]", self.conf.read_text())
        self.assertIn("tags: a;b\n", self.conf.read_text())
        self.assertEqual(self.cgroup("cpu.max"), "100000 100000")
        self.pct_ok("set 201 --delete cpulimit")
        self.assertNotIn("cpulimit", self.conf.read_text())
        self.pct_ok("set 201 --delete features")
        self.assertIn("[pve:pending]\ndelete: features\n", self.conf.read_text())

    def test_required_and_read_only_options_are_not_touched(self) -> None:
        for words, text in (
            ("--delete memory", "unable to delete required option 'memory'\n"),
            ("--unprivileged 0", "unable to modify read-only option: 'unprivileged'\n"),
        ):
            code, _, err = self.pct(f"set 201 {words}")
            self.assertEqual((code, err), (255, text))


class Arguments(NodeTest):
    def test_an_unknown_option_is_refused(self) -> None:
        code, _, err = self.pct("set 201 --memroy 5")
        self.assertEqual(code, 255)
        self.assertTrue(err.startswith("Unknown option: memroy\n400 unable to parse option\n"))

    def test_arguments_are_counted(self) -> None:
        for words, text in (
            ("start", "400 not enough arguments\npct start <vmid> [OPTIONS]\n"),
            ("start 201 202", "400 too many arguments\npct start <vmid> [OPTIONS]\n"),
        ):
            code, _, err = self.pct(words)
            self.assertEqual((code, err), (255, text))

    def test_an_id_below_100_is_refused(self) -> None:
        code, _, err = self.pct("start 99")
        self.assertEqual(code, 255)
        self.assertIn("vmid: invalid format - value does not look like a valid VM ID", err)

    def test_a_missing_container_ends_with_2(self) -> None:
        code, _, err = self.pct("config 999")
        self.assertEqual(code, 2)
        self.assertEqual(err, "Configuration file 'nodes/pve1/lxc/999.conf' does not exist\n")

    def test_start_and_stop_of_what_is_already_so(self) -> None:
        self.create()
        self.assertEqual(self.pct("stop 201")[2], "CT 201 not running\n")
        self.pct_ok("start 201")
        self.assertEqual(self.pct("start 201")[2], "CT 201 already running\n")

    def test_exec_needs_a_running_container_and_has_canned_answers_only(self) -> None:
        self.create()
        self.assertEqual(self.pct("exec 201 -- true"), (255, "", "container '201' not running!\n"))
        self.pct_ok("start 201")
        self.assertEqual(self.pct("exec 201 -- true")[0], 127)
        answers = [{"argv": ["hostname"], "stdout": "bob\n", "exit": 3}]
        self.node.path("/run/pvelab/exec.json").write_text(json.dumps(answers))
        self.assertEqual(self.pct("exec 201 -- hostname -f"), (3, "bob\n", ""))

    def test_without_nesting_the_start_warns_and_succeeds(self) -> None:
        self.create(features="nesting=0")
        code, _, err = self.pct("start 201")
        self.assertEqual(code, 0)
        self.assertEqual(err, "WARN: Systemd 257 detected. You may need to enable nesting.\n")

    def test_unlock(self) -> None:
        self.create()
        self.append("lock: backup\n")
        self.assertEqual(self.pct("start 201")[2], "CT is locked (backup)\n")
        self.pct_ok("unlock 201")
        self.pct_ok("start 201")


class Others(NodeTest):
    def test_pvesh_prints_json(self) -> None:
        self.create()
        path = "/nodes/pve1/lxc/201/status/current"
        code, out, _ = self.pvesh(f"get {path} --output-format json")
        self.assertEqual((code, json.loads(out)["status"]), (0, "stopped"))
        code, out, _ = self.pvesh("get /cluster/resources --type vm --output-format json")
        self.assertEqual([item["vmid"] for item in json.loads(out)], [201])
        self.assertEqual(self.pvesh("get /nodes/pve1/ceph")[0], 255)

    def test_pveam_lists_and_refuses_an_unknown_template(self) -> None:
        self.assertIn("local:vztmpl/debian-13-standard", self.pveam("list local")[1])
        code, _, err = self.pveam("download local nothing.tar.zst")
        self.assertEqual(code, 255)
        self.assertTrue(
            err.startswith("400 Parameter verification failed.\ntemplate: no such template\n")
        )


if __name__ == "__main__":
    unittest.main()
