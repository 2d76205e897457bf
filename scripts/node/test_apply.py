"""apply.py as a process, against a make-believe node."""

from __future__ import annotations

import json
import os
import unittest
from typing import Any

from test_node_fixture import MIB, NodeTest

GROUP = "sys/fs/cgroup/lxc/201"
CONF = "etc/pve/nodes/pve1/lxc/201.conf"


class Apply(NodeTest):
    """Create and update."""

    def apply(self, **changes: Any) -> Any:
        return self.run_script("node/apply.py", stdin=self.document(**changes))

    def test_nothing_to_do_starts_one_process_and_writes_nothing(self) -> None:
        before = (self.root / CONF).stat().st_mtime_ns
        first, second = self.apply(), self.apply()
        self.assertEqual(first.code, 0, first.stderr)
        self.assertEqual(second, first)
        self.assertEqual((self.root / CONF).stat().st_mtime_ns, before)
        self.assertEqual([call.split(" -- ")[0] for call in self.calls()], ["pct exec 201"] * 2)
        self.assertEqual(first.answer["hostKeys"], ["ssh-ed25519 AAAA"])
        self.assertEqual(first.answer["pending"], [])
        self.assertEqual(first.answer["limits"]["memoryHigh"], 400 * MIB)

    def test_the_guest_is_handed_its_manifest_and_the_document_is_kept(self) -> None:
        self.assertEqual(self.apply().code, 0)
        self.assertEqual(json.loads(self.text("manifest-given")), {"agent": "bob"})
        kept = self.root / "var/lib/berth/agents/201.json"
        self.assertEqual(json.loads(kept.read_text())["document"], self.document())
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)

    def test_memory_high_is_put_back_after_proxmox_wrote_its_own(self) -> None:
        done = self.apply(limits={"memoryMax": 640 * MIB})
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn("pct set 201 --memory 640 --swap 0", self.calls())
        self.assertEqual(self.text(f"{GROUP}/memory.high").strip(), str(400 * MIB))
        self.assertIn("memory: 640\n", self.text(CONF))

    def test_live_limits_that_somebody_changed_are_repaired(self) -> None:
        self.put(f"{GROUP}/memory.high", "max\n")
        self.put(f"{GROUP}/pids.max", "max\n")
        self.assertEqual(self.apply().code, 0)
        self.assertEqual(self.text(f"{GROUP}/memory.high"), str(400 * MIB))
        self.assertEqual(self.text(f"{GROUP}/pids.max"), "512")

    def test_memory_below_use_is_refused_with_the_figures_and_nothing_is_written(self) -> None:
        self.use_memory(300 * MIB)
        before = self.text(CONF)
        limits = {"memoryMax": 352 * MIB, "memoryHigh": 320 * MIB}
        self.assert_fails(
            self.apply(limits=limits),
            1,
            f"memory.max of container 201 cannot be lowered to {352 * MIB}",
            f"{300 * MIB} bytes in use",
            f"the least is {364 * MIB}",
        )
        self.assertEqual(self.text(CONF), before)
        self.assertEqual(self.text(f"{GROUP}/memory.max").strip(), str(512 * MIB))
        self.assertEqual(self.calls(), [])

    def test_memory_high_below_use_is_refused(self) -> None:
        self.use_memory(300 * MIB)
        done = self.apply(limits={"memoryHigh": 256 * MIB})
        self.assert_fails(done, 1, "memory.high of container 201")

    def test_page_cache_does_not_stand_in_the_way_of_less_memory(self) -> None:
        limits = {"memoryMax": 256 * MIB, "memoryHigh": 200 * MIB}
        self.assertEqual(self.apply(limits=limits).code, 0)

    def test_raw_keys_go_before_sections_and_change_nothing_else(self) -> None:
        tail = "[pve:pending]\ncores: 4\n\n[s1]\nmemory: 128\nlxc.cgroup2.pids.max: 9\n"
        self.put_conf(self.conf(description="x") + "lxc.cap.drop: mknod\n\n" + tail)
        self.assertEqual(self.apply().code, 0)
        main, _, rest = self.text(CONF).partition("\n\n[")
        self.assertEqual("[" + rest, tail)
        self.assertEqual(
            main.splitlines()[-5:],
            [
                "lxc.cap.drop: mknod",
                f"lxc.cgroup2.memory.high: {400 * MIB}",
                "lxc.cgroup2.pids.max: 512",
                "lxc.prlimit.nofile: 4096",
                "lxc.mount.entry: /rpool/berth/bob/home home/bob none rw,bind,create=dir 0 0",
            ],
        )

    def test_a_stopped_container_is_started_after_its_keys_are_written(self) -> None:
        self.put_container_stopped()
        self.put_conf(self.conf())
        done = self.apply()
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(self.calls()[0], "pct start 201")
        self.assertEqual(done.answer["limits"]["nofile"], 4096)

    def test_a_start_without_the_dataset_says_why(self) -> None:
        self.put_container_stopped()
        self.put("proc/self/mounts", "rpool/berth /rpool/berth zfs rw 0 0\n")
        done = self.apply()
        self.assert_fails(done, 1, "'rpool/berth/bob' is not mounted", "zfs mount rpool/berth/bob")
        self.assertEqual(self.calls(), [])

    def test_nofile_waits_for_a_restart_and_says_so(self) -> None:
        done = self.apply(limits={"nofile": 8192})
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(done.answer["pending"], ["nofile: 4096 -> 8192"])
        self.assertEqual(done.answer["limits"]["nofile"], 4096)
        self.assertNotIn("shutdown", " ".join(self.calls()))

    def test_restart_allowed_restarts_once_for_what_is_pending(self) -> None:
        done = self.apply(limits={"nofile": 8192}, restart="allowed")
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(done.answer["pending"], [])
        self.assertEqual(done.answer["limits"]["nofile"], 8192)
        stop = "pct shutdown 201 --timeout 60 --forceStop 1"
        self.assertEqual(self.calls()[:2], [stop, "pct start 201"])
        self.assertEqual(self.apply(limits={"nofile": 8192}, restart="allowed").code, 0)
        self.assertNotIn(stop, self.calls())

    def test_a_mount_that_is_not_there_and_proxmox_own_changes_are_pending(self) -> None:
        (self.root / "proc/4242/root/home/bob").unlink()
        with (self.root / CONF).open("a") as conf:
            conf.write("\n[pve:pending]\ncores: 4\n")
        pending = self.apply().answer["pending"]
        self.assertEqual(pending, ["mount: /rpool/berth/bob/home at /home/bob", "cores: 2 -> 4"])

    def test_limits_that_do_not_hold_are_an_error(self) -> None:
        self.put_container_stopped()
        self.fake("pct", 'echo "populated 1" >"$BERTH_ROOT/sys/fs/cgroup/lxc/201/cgroup.events"')
        self.put("proc/4242/limits", "Max open files            1024  1024  files\n")
        self.assert_fails(self.apply(), 1, "do not hold: nofile is 1024, not 4096")

    def test_an_error_in_the_guest_is_passed_on_with_its_hint(self) -> None:
        self.fake("pct", "echo 'berth: no such group' >&2; echo 'hint: make it' >&2; exit 1")
        done = self.apply()
        self.assert_fails(done, 1, "in the guest of container 201: no such group", "hint: make it")
        self.assertFalse(self.exists("var/lib/berth/agents/201.json"))

    def test_a_hung_pct_ends_with_the_step_that_hung(self) -> None:
        self.fake("pct", "sleep 30")
        done = self.apply(deadline=2)
        self.assertIn(done.code, (1, 124))
        self.assertIn("pct exec 201", done.stderr)

    def test_a_held_lock_is_busy(self) -> None:
        self.take_lock("run/lock/berth/201.lock")
        self.assert_fails(self.apply(deadline=2), 75, "lock of container 201 is held")
        self.assertEqual(self.calls(), [])

    def put_container_stopped(self) -> None:
        self.put(f"{GROUP}/cgroup.events", "populated 0\n")


class Identity(NodeTest):
    """Whose container it is."""

    def refuse(self, *parts: str, **changes: Any) -> None:
        for arguments in ([], ["--delete"]):
            done = self.run_script("node/apply.py", *arguments, stdin=self.document(**changes))
            self.assert_fails(done, 1, *parts)
        self.assertEqual(self.calls(), [])

    def test_a_container_without_our_tags_is_foreign(self) -> None:
        self.put_conf(self.conf(tags="web"))
        self.refuse(
            "VMID 201 is taken by a foreign machine", "(tags: web)", "`pulumi state delete URN`"
        )

    def test_a_container_of_another_stack_is_foreign(self) -> None:
        self.put_conf(self.conf(tags="berth;berth-prod"))
        self.refuse("foreign machine", "berth-prod")

    def test_a_container_of_another_name_is_foreign(self) -> None:
        self.put_conf(self.conf(hostname="alice"))
        self.refuse("foreign machine", "'alice'")

    def test_ours_on_another_node_is_named(self) -> None:
        os.unlink(self.root / CONF)
        self.put_conf(self.conf(), "pve2/lxc/201")
        self.refuse("is on node 'pve2', not on 'pve1'", "pct migrate 201 pve1")

    def test_another_node_is_refused(self) -> None:
        self.refuse("this is node 'pve1', the document is for 'pve9'", node="pve9")


class Delete(NodeTest):
    """The last snapshot and the clean stop."""

    def test_snapshot_then_clean_stop_and_the_document_is_forgotten(self) -> None:
        self.put("var/lib/berth/agents/201.json", "{}")
        done = self.run_script("node/apply.py", "--delete", stdin=self.document())
        self.assertEqual(done.code, 0, done.stderr)
        self.assertRegex(done.answer["snapshot"], r"^rpool/berth/bob@berth-last-\d{8}T\d{6}Z$")
        calls = self.calls()
        self.assertEqual(calls[1], f"zfs snapshot {done.answer['snapshot']}")
        self.assertEqual(calls[2], "pct shutdown 201 --timeout 60 --forceStop 1")
        self.assertNotIn("destroy", " ".join(calls))
        self.assertFalse(self.exists("var/lib/berth/agents/201.json"))

    def test_a_container_that_is_gone_is_fine(self) -> None:
        os.unlink(self.root / CONF)
        done = self.run_script("node/apply.py", "--delete", stdin=self.document())
        self.assertEqual((done.code, done.answer), (0, {"deleted": False}))
        self.assertEqual(self.calls(), [])

    def test_a_failed_snapshot_stops_nothing(self) -> None:
        self.fake("zfs", 'test "$1" = get || exit 1\nprintf "rpool/berth/bob\\tmounted\\tyes\\n"')
        done = self.run_script("node/apply.py", "--delete", stdin=self.document())
        self.assert_fails(done, 1, "zfs snapshot")
        self.assertNotIn("pct", " ".join(self.calls()))


class Documents(NodeTest):
    """A wrong document names its key and changes nothing."""

    def test_faults(self) -> None:
        unknown = {**self.document(), "colour": 1}
        missing = self.document()
        del missing["limits"]["nofile"]
        cases: list[tuple[Any, str]] = [
            ("{", "not a JSON document"),
            ([], "(the document): expected an object"),
            (unknown, "colour: unknown key"),
            (missing, "limits.nofile: missing"),
            (self.document(vmid="201"), "vmid: expected a whole number"),
            (self.document(vmid=99), "vmid: expected 100 to"),
            (self.document(restart="often"), "restart: expected never or allowed"),
            (self.document(limits={"nofile": 2_000_000}), "limits.nofile: expected 64 to 1048576"),
            (self.document(limits={"memoryMax": 512 * MIB + 1}), "a multiple of 1048576"),
            (self.document(limits={"memoryHigh": 513 * MIB}), "larger than memoryMax"),
            (
                self.document(mounts=[{"source": "/a", "target": "../b", "readOnly": True}]),
                "mounts[0].target: '../b' leads away",
            ),
            (
                self.document(mounts=[{"source": "/a b", "target": "b", "readOnly": True}]),
                "mounts[0].source: expected an absolute path",
            ),
        ]
        for document, expected in cases:
            with self.subTest(expected):
                self.assert_fails(self.run_script("node/apply.py", stdin=document), 64, expected)
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    unittest.main()
