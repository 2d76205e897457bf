"""A driver without a kernel: containers are files under the root, for tests of everything above.

State is kept where the real one has it: `run/pvelab/<vmid>.running` says that a container runs,
and `sys/fs/cgroup/lxc/<vmid>/` holds the cgroup files, written in the order of the generated
config. Nothing is ever executed: `pct exec` looks its answer up in `run/pvelab/exec.json`, a
list of `{"vmid", "argv", "stdout", "stderr", "exit"}` (`vmid` may be left out; `argv` matches as a
prefix), and appends each call to `run/pvelab/exec.log`, one JSON line with `vmid`, `argv`, `stdin`.
`run/pvelab/<vmid>.refuse-start` holds the text with which the next starts fail.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .errors import PveError

_STATE = "run/pvelab"
_DEFAULTS = {
    "memory.high": "max",
    "memory.max": "max",
    "memory.swap.max": "max",
    "pids.max": "max",
    "cpu.max": "max 100000",
    "cpu.weight": "100",
    "memory.current": "67108864",
    "memory.swap.current": "0",
    "memory.stat": "anon 33554432\nfile 16777216\nshmem 0\nslab_unreclaimable 1048576",
}


class MemoryDriver:
    """Simulated containers."""

    def __init__(self, root: Path) -> None:
        self._root = root
        (root / _STATE).mkdir(parents=True, exist_ok=True)

    def _marker(self, vmid: int) -> Path:
        return self._root / _STATE / f"{vmid}.running"

    def _cgroup(self, vmid: int) -> Path:
        return self._root / "sys/fs/cgroup/lxc" / str(vmid)

    def running(self) -> set[int]:
        """The containers that have a marker."""
        return {int(p.name.partition(".")[0]) for p in (self._root / _STATE).glob("*.running")}

    def start(self, vmid: int) -> None:
        """Reads the generated config as LXC would: mounts must exist, cgroup keys be known."""
        entries = []
        for line in (self._root / f"var/lib/lxc/{vmid}/config").read_text().splitlines():
            key, _, value = line.partition(" = ")
            entries.append((key, value))
        self._refusals(vmid, entries)
        cgroup = self._cgroup(vmid)
        (cgroup / "ns").mkdir(parents=True, exist_ok=True)
        for directory in (cgroup, cgroup / "ns"):
            for name, value in _DEFAULTS.items():
                (directory / name).write_text(value + "\n")
        for key, value in entries:
            if key.startswith("lxc.cgroup2."):
                self.write_cgroup(vmid, key.removeprefix("lxc.cgroup2."), value)
        self._marker(vmid).write_text(f"{time.time()}\n")

    def _refusals(self, vmid: int, entries: list[tuple[str, str]]) -> None:
        refusal = self._root / _STATE / f"{vmid}.refuse-start"
        if refusal.exists():
            raise PveError(refusal.read_text().strip())
        for key, value in entries:
            if key == "lxc.mount.entry":
                source, target = value.split()[:2]
                # A volume's path has the root in it already; what an operator wrote has not.
                inside = source.startswith(f"{self._root}/")
                path = Path(source) if inside else self._root / source.lstrip("/")
                if source.startswith("/") and not source.startswith("/dev/") and not path.exists():
                    raise PveError(
                        f'Failed to mount "{source}" onto '
                        f'"/usr/lib/x86_64-linux-gnu/lxc/rootfs/{target}"\n'
                        f"startup for container '{vmid}' failed"
                    )
            knob = key.removeprefix("lxc.cgroup2.")
            if knob != key and knob.partition(".")[0] not in (
                "memory",
                "pids",
                "cpu",
                "cpuset",
                "io",
                "hugetlb",
                "devices",
                "misc",
                "rdma",
            ):
                raise PveError(
                    f'Failed to set "{knob}" to "{value}"\nstartup for container \'{vmid}\' failed'
                )

    def stop(self, vmid: int, kill: bool, timeout: int | None, kill_after: bool) -> None:
        """Stops at once."""
        self._marker(vmid).unlink(missing_ok=True)
        shutil.rmtree(self._cgroup(vmid), ignore_errors=True)

    def write_cgroup(self, vmid: int, file: str, value: str) -> None:
        """Writes the file of the outer cgroup."""
        (self._cgroup(vmid) / file).write_text(value + "\n")

    def execute(self, vmid: int, argv: Sequence[str], keep_env: bool) -> int:
        """Looks the answer up; a command without one fails as a missing program does."""
        state = self._root / _STATE
        stdin = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
        with (state / "exec.log").open("a") as log:
            log.write(json.dumps({"vmid": vmid, "argv": list(argv), "stdin": stdin}) + "\n")
        answers = state / "exec.json"
        for answer in json.loads(answers.read_text()) if answers.exists() else []:
            prefix = answer.get("argv", [])
            if answer.get("vmid", vmid) == vmid and list(argv[: len(prefix)]) == prefix:
                sys.stdout.write(answer.get("stdout", ""))
                sys.stderr.write(answer.get("stderr", ""))
                return int(answer.get("exit", 0))
        sys.stderr.write(
            f"lxc-attach: {vmid}: ../src/lxc/attach.c: lxc_attach_run_command: 1841 "
            f'No such file or directory - Failed to exec "{argv[0]}"\n'
        )
        return 127

    def interfaces(self, vmid: int) -> list[dict[str, object]]:
        """The loopback and what the generated config names."""
        found: list[dict[str, object]] = [
            {
                "ifname": "lo",
                "address": "00:00:00:00:00:00",
                "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8}],
            }
        ]
        conf = next((self._root / "etc/pve/nodes").glob(f"*/lxc/{vmid}.conf"))
        for line in conf.read_text().partition("\n[")[0].splitlines():
            if line.startswith("net"):
                net = dict(item.split("=", 1) for item in line.partition(": ")[2].split(","))
                local, _, prefix = net.get("ip", "").partition("/")
                addresses = (
                    [{"family": "inet", "local": local, "prefixlen": int(prefix)}] if prefix else []
                )
                found.append(
                    {
                        "ifname": net["name"],
                        "address": net.get("hwaddr", "").lower(),
                        "addr_info": addresses,
                    }
                )
        return found

    def usage(self, vmid: int) -> dict[str, int]:
        """Seconds since the start; memory as the cgroup file says."""
        started = float(self._marker(vmid).read_text())
        memory = int((self._cgroup(vmid) / "memory.current").read_text())
        return {"pid": 1, "uptime": int(time.time() - started), "mem": memory, "swap": 0}

    def plug_network(self, vmid: int, index: int, net: dict[str, str]) -> None:
        """Nothing to plug."""

    def unplug_network(self, vmid: int, index: int) -> None:
        """Nothing to unplug."""

    def plug_mount(self, vmid: int, source: Path, target: str, read_only: bool) -> None:
        """Only the source is looked for."""
        if not source.is_dir():
            raise PveError(f"directory '{source}' does not exist")

    def freeze(self, vmid: int, frozen: bool) -> None:
        """Nothing to freeze."""


class DirectoryVolumes:
    """Volumes as plain directories with a limit in a file beside them; snapshots are copies."""

    def __init__(self, root: Path) -> None:
        self._base = root / "rpool/data"
        self._meta = root / _STATE / "volumes"

    def names(self) -> list[str]:
        """The directories."""
        return sorted(p.name for p in self._base.glob("*") if p.is_dir())

    def create(self, name: str, size: int) -> None:
        """An empty directory."""
        self.path(name).mkdir(parents=True)
        self._meta.mkdir(parents=True, exist_ok=True)
        self.resize(name, size)

    def create_from(self, name: str, size: int, archive: Path, shift: int) -> None:
        """The few files by which a Debian guest is known; the archive is not unpacked."""
        self.create(name, size)
        etc = self.path(name) / "etc"
        etc.mkdir()
        (etc / "os-release").write_text('ID=debian\nVERSION_ID="13"\n')
        (etc / "shadow").write_text("root:*:20000:0:99999:7:::\n")
        library = self.path(name) / "usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-257.so"
        library.parent.mkdir(parents=True)
        library.touch()

    def destroy(self, name: str) -> None:
        """The directory, its limit and its copies."""
        shutil.rmtree(self.path(name))
        (self._meta / name).unlink()
        for snapshot in self.snapshots(name):
            self.delete_snapshot(name, snapshot)

    def path(self, name: str) -> Path:
        """Where the real dataset is mounted."""
        return self._base / name

    def size(self, name: str) -> int:
        """The recorded limit."""
        return int((self._meta / name).read_text())

    def resize(self, name: str, size: int) -> None:
        """Records the limit."""
        (self._meta / name).write_text(str(size))

    def activate(self, name: str) -> None:
        """A directory is always there, or it is an error."""
        if not self.path(name).is_dir():
            raise PveError(f"cannot open 'rpool/data/{name}': dataset does not exist")

    def _copy(self, name: str, snapshot: str) -> Path:
        return self._meta / "snapshots" / name / snapshot

    def snapshot(self, name: str, snapshot: str) -> None:
        """Copies the tree."""
        shutil.copytree(self.path(name), self._copy(name, snapshot), symlinks=True)

    def delete_snapshot(self, name: str, snapshot: str) -> None:
        """Removes the copy."""
        shutil.rmtree(self._copy(name, snapshot))

    def snapshots(self, name: str) -> list[str]:
        """The copies, the oldest first."""
        found = (self._meta / "snapshots" / name).glob("*")
        return [p.name for p in sorted(found, key=lambda p: p.stat().st_ctime_ns)]

    def rollback(self, name: str, snapshot: str) -> None:
        """Puts the copy in place."""
        shutil.rmtree(self.path(name))
        shutil.copytree(self._copy(name, snapshot), self.path(name), symlinks=True)

    def space(self) -> tuple[int, int]:
        """A pool of 16 GiB with nothing in it."""
        return 0, 16 * 1024**3
