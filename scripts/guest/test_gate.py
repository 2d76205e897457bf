"""The gate as a process, against fixtures of the guest's cgroups."""

from __future__ import annotations

import unittest
from typing import Any

from test_guest_fixture import MANAGER, SLICE, UID, GuestTest

MIB = 1 << 20
GIB = 1 << 30


class Gate(GuestTest):
    """Room, sessions, tasks and pressure of the agent's own slice."""

    def setUp(self) -> None:
        super().setUp()
        self.put("proc/self/cgroup", "0::/user.slice/somewhere-else\n")
        self.put(f"{SLICE}/pids.current", "12\n")
        self.put(f"{SLICE}/memory.pressure", self.psi(0.0))
        self.use(0)

    def use(self, anonymous: int, shared: int = 0, kernel: int = 0) -> None:
        """Say what the slice holds, beside 4 GiB of page cache."""
        self.put(
            f"{SLICE}/memory.stat",
            f"anon {anonymous}\nfile {4 * GIB + shared}\nkernel {kernel + 50 * MIB}\n"
            f"shmem {shared}\nslab_reclaimable {50 * MIB}\n",
        )

    def psi(self, full: float) -> str:
        return f"some avg10=90.00 avg60=0 avg300=0 total=1\nfull avg10={full} avg60=0 total=1\n"

    def session(self, name: str, populated: bool = True, processes: int = 1) -> None:
        """A unit of the slice, with as many processes as you like."""
        self.put(f"{SLICE}/{name}/cgroup.events", f"populated {int(populated)}\nfrozen 0\n")
        self.put(f"{SLICE}/{name}/cgroup.procs", "".join(f"{i}\n" for i in range(processes)))

    def check(self, *arguments: str) -> Any:
        figures = ["--agent", "bob", "--slice-high", str(6 * GIB), "--session-memory", str(GIB)]
        figures += ["--max-sessions", "6", "--tasks-max", "400"]
        return self.run_script("guest/gate.py", *figures, "check", *arguments)

    def expect(self, decision: str, limit: str | None) -> Any:
        codes = {"go": 0, "not-now": 75, "unknown": 69}
        done = self.check("--json")
        self.assertEqual(done.code, codes[decision], done.stdout + done.stderr)
        self.assertEqual((done.answer["decision"], done.answer["limit"]), (decision, limit))
        return done.answer

    def test_page_cache_is_room_and_the_source_is_the_cgroup(self) -> None:
        self.put("proc/meminfo", "MemTotal: 6144000 kB\nMemAvailable: 12000 kB\n")
        self.use(int(1.2 * GIB))
        answer = self.expect("go", None)
        self.assertEqual(answer["room"], 6 * GIB - int(1.2 * GIB))
        self.assertIn(f"cgroup /{SLICE}", answer["source"])

    def test_anonymous_shared_and_kernel_memory_are_not_room(self) -> None:
        self.use(3 * GIB, shared=2 * GIB, kernel=MIB)
        answer = self.expect("not-now", "memory")
        self.assertEqual(answer["room"], GIB - MIB)
        self.use(3 * GIB, shared=2 * GIB, kernel=0)
        self.expect("go", None)

    def test_a_session_counts_once_however_many_processes_it_has(self) -> None:
        for index in range(5):
            self.session(f"berth-loop-{index}.service", processes=12)
        answer = self.expect("go", None)
        self.assertEqual(answer["sessions"], {"active": 5, "max": 6})
        self.session("run-1.scope", processes=4)
        self.assertEqual(self.expect("not-now", "sessions")["sessions"]["active"], 6)
        self.assertIn("active=6", self.check().stdout)

    def test_dead_units_and_the_caller_do_not_count_and_nested_slices_do(self) -> None:
        self.session("berth-loop-dead.service", populated=False)
        self.session("berth-loop-me.service")
        self.session("berth-sessions-x.slice/inner.service")
        self.put(
            "proc/self/cgroup",
            f"0::/{SLICE.removeprefix('sys/fs/cgroup/')}/berth-loop-me.service\n",
        )
        self.assertEqual(self.expect("go", None)["sessions"]["active"], 1)

    def test_tasks_decide_before_forks_fail(self) -> None:
        self.put(f"{SLICE}/pids.current", "361\n")
        self.expect("not-now", "tasks")

    def test_own_pressure_is_a_brake(self) -> None:
        self.put(f"{SLICE}/memory.pressure", self.psi(46.0))
        answer = self.expect("not-now", "pressure")
        self.assertEqual(answer["psi"], {"fullAvg10": 46.0, "source": "cgroup"})

    def test_own_pressure_is_read_before_the_machines(self) -> None:
        self.put("proc/pressure/memory", self.psi(80.0))
        self.assertEqual(self.expect("go", None)["psi"], {"fullAvg10": 0.0, "source": "cgroup"})

    def test_the_machines_pressure_is_labelled_and_does_not_decide(self) -> None:
        (self.root / SLICE / "memory.pressure").unlink()
        self.put("proc/pressure/memory", self.psi(80.0))
        self.assertEqual(self.expect("go", None)["psi"], {"fullAvg10": 80.0, "source": "host"})
        self.assertIn("psi: full avg10=80 % (host)", self.check().stdout)

    def test_missing_or_garbled_pressure_is_unavailable_not_zero(self) -> None:
        for text in (None, "garbage\n", "full avg10=x\n", "full\n"):
            with self.subTest(text):
                (self.root / SLICE / "memory.pressure").unlink(missing_ok=True)
                if text is not None:
                    self.put(f"{SLICE}/memory.pressure", text)
                answer = self.expect("go", None)
                self.assertEqual(answer["psi"], {"fullAvg10": None, "source": "unavailable"})
                self.assertIn("psi: unavailable", self.check().stdout)

    def test_a_slice_that_is_not_there_yet_is_empty_and_says_so(self) -> None:
        import shutil

        shutil.rmtree(self.root / MANAGER)
        self.put(f"{MANAGER}/cgroup.events", "populated 1\n")
        answer = self.expect("go", None)
        self.assertEqual((answer["memory"]["used"], answer["sessions"]["active"]), (0, 0))
        self.assertIn("no session yet", answer["source"])

    def test_unreadable_is_unknown_never_zero(self) -> None:
        for path in (f"{SLICE}/memory.stat", f"{SLICE}/pids.current"):
            for text in (None, "", "garbage"):
                with self.subTest(path=path, text=text):
                    before = self.text(path)
                    (self.root / path).unlink()
                    if text is not None:
                        self.put(path, text)
                    answer = self.expect("unknown", None)
                    self.assertIn("cannot read", answer["reason"])
                    self.put(path, before)

    def test_no_manager_or_no_user_is_unknown(self) -> None:
        import shutil

        shutil.rmtree(self.root / MANAGER)
        self.assertIn("linger", self.expect("unknown", None)["source"])
        self.put("etc/passwd", "root:x:0:0::/root:/bin/sh\n")
        self.assertIn("no user 'bob'", self.expect("unknown", None)["source"])

    def test_wrong_use_is_64_with_the_usage(self) -> None:
        for arguments in ([], ["check"], ["--agent", "bob", "chek"], ["check", "--jsn"]):
            with self.subTest(arguments):
                done = self.run_script("guest/gate.py", *arguments)
                self.assert_fails(done, 64, "usage: berth gate")

    def test_the_uid_is_the_agents(self) -> None:
        self.assertIn(f"user@{UID}.service", self.check().stdout)


if __name__ == "__main__":
    unittest.main()
