#!/usr/bin/env python3
"""The rows of pitfalls 8.1 that need a kernel, on the lab's machine itself: run there as root.

It makes container 901 and dataset rpool/vmtest, and removes both. Under emulation a few minutes.
"""

from __future__ import annotations

import subprocess
import time
import unittest
from pathlib import Path

VMID = "901"
TEMPLATE = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"
CONF = Path(f"/etc/pve/lxc/{VMID}.conf")
CGROUP = Path(f"/sys/fs/cgroup/lxc/{VMID}")
DATA = Path("/rpool/vmtest/bob")
RAW = f"""lxc.cgroup2.memory.high: 419430400
lxc.cgroup2.pids.max: 256
lxc.prlimit.nofile: 4096
lxc.mount.entry: {DATA} srv/agent none rw,bind,create=dir 0 0
"""


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    """Runs a program and prints how long it took."""
    began = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    print(f"    {time.monotonic() - began:6.1f} s  rc {done.returncode}  {' '.join(argv)[:100]}")
    return done


class Container(unittest.TestCase):
    """One container through its life; the cases run in the order of their names."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.remove()
        run("zfs", "create", "-p", "rpool/vmtest/bob")
        (DATA / "note").write_text("before")
        run("chown", "-R", "100000:100000", str(DATA))
        made = run(
            "pct",
            "create",
            VMID,
            TEMPLATE,
            "--storage",
            "local-zfs",
            "--hostname",
            "vmtest",
            "--memory",
            "512",
            "--swap",
            "0",
            "--cores",
            "1",
            "--features",
            "nesting=1",
            "--rootfs",
            "local-zfs:2",
            "--net0",
            "name=eth0,bridge=vmbr0,ip=10.210.0.201/24,gw=10.210.0.1",
        )
        if made.returncode:
            raise AssertionError(made.stderr)
        with CONF.open("a") as file:
            file.write(RAW)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.remove()

    @classmethod
    def remove(cls) -> None:
        """Removes what this test makes, also what an interrupted run has left."""
        if CONF.exists():
            run("pct", "destroy", VMID, "--force", "1")
        run("zfs", "destroy", "-r", "rpool/vmtest")

    def pct(self, *argv: str) -> str:
        """Runs `pct`, which has to succeed."""
        done = run("pct", *argv)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def guest(self, *argv: str) -> str:
        """Runs a command in the container."""
        return self.pct("exec", VMID, "--", *argv).strip()

    def limit(self, name: str) -> str:
        """A file of the outer cgroup."""
        return (CGROUP / name).read_text().strip()

    def restart(self) -> None:
        """A new start."""
        self.pct("stop", VMID)
        self.pct("start", VMID)

    def wait_for(self, what: str, check: object, seconds: float = 120) -> None:
        """Waits until something is so."""
        deadline = time.monotonic() + seconds
        assert callable(check)
        while not check():
            self.assertLess(time.monotonic(), deadline, f"not within {seconds:g} s: {what}")
            time.sleep(0.3)

    def test_10_raw_keys_win_at_start(self) -> None:
        self.pct("start", VMID)
        self.assertEqual(self.limit("memory.high"), "419430400")
        self.assertEqual(self.limit("memory.max"), "536870912")
        self.assertEqual(self.limit("memory.swap.max"), "0")
        self.assertEqual(self.limit("pids.max"), "256")

    def test_11_the_guest_sees_no_limit_but_nofile_and_the_mount(self) -> None:
        self.assertEqual(self.guest("cat", "/sys/fs/cgroup/memory.high"), "max")
        self.assertEqual(self.guest("cat", "/sys/fs/cgroup/pids.max"), "max")
        limits = self.guest("grep", "open files", "/proc/1/limits").split()
        self.assertEqual(limits[3:5], ["4096", "4096"])
        self.assertEqual(self.guest("sh", "-c", "ulimit -n"), "4096")
        self.assertEqual(self.guest("cat", "/srv/agent/note"), "before")
        mounts = [
            line
            for line in self.guest("cat", "/proc/self/mountinfo").splitlines()
            if " /srv/agent " in line
        ]
        self.assertRegex(mounts[0], r" / /srv/agent rw.* - zfs rpool/vmtest/bob ")

    def test_12_systemd_comes_up_and_the_bridge_carries(self) -> None:
        self.wait_for(
            "systemd is running",
            lambda: (
                run("pct", "exec", VMID, "--", "systemctl", "is-system-running").stdout.strip()
                in ("running", "degraded")
            ),
        )
        self.assertEqual(self.guest("hostname"), "vmtest")
        self.assertEqual(run("ping", "-c1", "-W5", "10.210.0.201").returncode, 0)
        # From inside, the profile's own namespace looks unconfined; the node sees the truth.
        init = int((CGROUP / "ns/init.scope/cgroup.procs").read_text().split()[0])
        profile = Path(f"/proc/{init}/attr/current").read_text()
        self.assertRegex(profile, rf"^lxc-{VMID}_.*")
        self.assertNotEqual(profile.strip(), "unconfined")

    def test_13_exec_passes_input_output_and_exit_code(self) -> None:
        done = subprocess.run(
            ["pct", "exec", VMID, "--", "sh", "-c", "cat; echo err >&2; exit 7"],
            input="in",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "in", "err\n"))

    def test_20_only_memory_rewrites_memory_high(self) -> None:
        for option, value in (("--cores", "2"), ("--swap", "64"), ("--onboot", "0")):
            self.pct("set", VMID, option, value)
            self.assertEqual(self.limit("memory.high"), "419430400", option)
        self.assertEqual(self.limit("memory.swap.max"), str(64 << 20))
        self.pct("set", VMID, "--memory", "640")
        self.assertEqual(self.limit("memory.high"), "665845760")
        self.assertEqual(self.limit("memory.max"), "671088640")
        self.assertTrue(CONF.read_text().endswith(RAW))

    def test_21_a_reboot_from_inside_reads_the_config_anew(self) -> None:
        self.pct("set", VMID, "--features", "nesting=1,keyctl=1")
        self.assertIn("[pve:pending]", CONF.read_text())
        before = self.guest("cat", "/proc/sys/kernel/random/boot_id", "/proc/1/stat").split()[23]
        run("pct", "exec", VMID, "--", "systemctl", "reboot")
        self.wait_for("pending is applied", lambda: "[pve:pending]" not in CONF.read_text())
        self.wait_for(
            "another init runs",
            lambda: (
                run("pct", "exec", VMID, "--", "cat", "/proc/1/stat").stdout.split()[21:22]
                not in ([], [before])
            ),
        )
        self.assertEqual(self.limit("memory.high"), "419430400")
        self.assertEqual(self.limit("memory.max"), "671088640")

    def test_30_snapshot_and_rollback(self) -> None:
        self.guest("sh", "-c", "echo before > /root/note")
        self.pct("snapshot", VMID, "s1")
        self.guest("sh", "-c", "echo after > /root/note; echo after > /srv/agent/note")
        CONF.write_text(CONF.read_text().replace("419430400", "314572800", 1))
        self.pct("rollback", VMID, "s1")
        self.assertIn("419430400", CONF.read_text().partition("[s1]")[0])
        self.pct("start", VMID)
        self.assertEqual(self.guest("cat", "/root/note"), "before")
        self.assertEqual(self.guest("cat", "/srv/agent/note"), "after")
        self.pct("delsnapshot", VMID, "s1")

    def test_31_a_mount_point_is_plugged_live_and_blocks_snapshots(self) -> None:
        self.pct("set", VMID, "--mp0", f"{DATA},mp=/srv/b")
        self.assertEqual(self.guest("cat", "/srv/b/note"), "after")
        done = run("pct", "snapshot", VMID, "s2")
        self.assertEqual(
            (done.returncode, done.stderr), (255, "snapshot feature is not available\n")
        )
        self.pct("set", VMID, "--delete", "mp0")
        self.restart()
        self.assertEqual(run("pct", "exec", VMID, "--", "test", "-e", "/srv/b/note").returncode, 1)

    def test_40_a_wrong_key_or_a_missing_source_stops_the_start(self) -> None:
        self.pct("stop", VMID)
        good = CONF.read_text()
        CONF.write_text(good + "lxc.cgroup2.nonexistent.knob: 5\n")
        done = run("pct", "start", VMID)
        self.assertEqual(done.returncode, 255)
        self.assertIn('Failed to set "nonexistent.knob" to "5"', done.stderr)
        CONF.write_text(good.replace(str(DATA), "/rpool/vmtest/alice"))
        done = run("pct", "start", VMID)
        self.assertEqual(done.returncode, 255)
        self.assertIn('Failed to mount "/rpool/vmtest/alice" onto "', done.stderr)
        CONF.write_text(good)
        self.pct("start", VMID)

    def test_41_an_unmounted_dataset_is_bound_in_silence(self) -> None:
        self.pct("stop", VMID)
        self.assertEqual(run("zfs", "unmount", "rpool/vmtest/bob").returncode, 0)
        self.pct("start", VMID)
        self.assertEqual(self.guest("ls", "/srv/agent"), "")
        self.pct("stop", VMID)
        run("zfs", "mount", "rpool/vmtest/bob")
        self.pct("start", VMID)

    def test_50_without_nesting_the_start_warns(self) -> None:
        self.pct("stop", VMID)
        self.pct("set", VMID, "--features", "nesting=0")
        done = run("pct", "start", VMID)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(
            done.stderr, r"WARN: Systemd \d+ detected. You may need to enable nesting."
        )

    def test_90_destroy_keeps_what_is_bound(self) -> None:
        self.pct("shutdown", VMID, "--timeout", "60", "--forceStop", "1")
        self.pct("destroy", VMID, "--purge", "1")
        self.assertEqual((DATA / "note").read_text().strip(), "after")
        listed = run("zfs", "list", "-H", "-o", "name", "-r", "rpool/data").stdout
        self.assertNotIn(f"subvol-{VMID}-", listed)
        self.assertFalse(CONF.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2, failfast=False)
