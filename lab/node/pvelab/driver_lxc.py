"""The driver for real containers: LXC under systemd units, with Proxmox's cgroup layout."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .command import run
from .errors import PveError
from .hotplug import mount_into

_CGROUP = Path("/sys/fs/cgroup/lxc")
_COMMAND_SOCKET = re.compile(r"@/var/lib/lxc/(\d+)/command$")
_START_TIMEOUT = 120.0
_PIDFILE_TIMEOUT = 20.0


class LxcDriver:
    """LXC 6 on the machine that this runs on."""

    def running(self) -> set[int]:
        """Whose monitor listens on its command socket, as the real node finds out."""
        lines = Path("/proc/net/unix").read_text().splitlines()
        return {int(match[1]) for line in lines if (match := _COMMAND_SOCKET.search(line))}

    def start(self, vmid: int) -> None:
        """Starts the unit and waits until the guest's init is executed."""
        errors = Path(f"/run/pve/ct-{vmid}.stderr")
        errors.parent.mkdir(exist_ok=True)
        errors.unlink(missing_ok=True)
        pidfile = Path(f"/run/pve/ct-{vmid}.pid")
        pidfile.unlink(missing_ok=True)
        run(["systemctl", "start", f"pve-container@{vmid}.service"])
        # Files are asked, not systemd: under emulation a call of systemctl costs half a second.
        began = time.monotonic()
        while not self._init_runs(vmid):
            late = time.monotonic() - began
            if late > _START_TIMEOUT or (late > 1 and self._ended(pidfile, late)):
                self._fail(vmid, errors)
            time.sleep(0.05)

    @staticmethod
    def _ended(pidfile: Path, late: float) -> bool:
        """Whether the monitor is gone, or never came."""
        try:
            pid = pidfile.read_text().strip()
        except FileNotFoundError:
            return late > _PIDFILE_TIMEOUT
        return bool(pid) and not Path(f"/proc/{pid}").exists()

    def _fail(self, vmid: int, errors: Path) -> None:
        text = errors.read_text(errors="replace") if errors.exists() else ""
        lines = [re.sub(r"^lxc-start: \d+: \S+: ", "", line) for line in text.splitlines()]
        raise PveError("\n".join([*lines, f"startup for container '{vmid}' failed"]))

    def _init_runs(self, vmid: int) -> bool:
        pid = self._find_init(vmid)
        if pid is None:
            return False
        try:
            return Path(f"/proc/{pid}/exe").readlink().name != "lxc-start"
        except OSError:
            return False

    def _find_init(self, vmid: int) -> int | None:
        """The host's pid of the guest's pid 1: the first in one of the cgroups it may sit in."""
        base = _CGROUP / str(vmid) / "ns"
        for group in (base, base / "init.scope"):
            try:
                pids = (group / "cgroup.procs").read_text().split()
            except OSError:
                continue
            for pid in pids:
                if self._namespaced_pid(int(pid)) == 1:
                    return int(pid)
        return None

    @staticmethod
    def _namespaced_pid(pid: int) -> int | None:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return None
        match = re.search(r"^NSpid:(?:\s+\d+)*\s+\d+\s+(\d+)$", status, re.MULTILINE)
        return int(match[1]) if match else None

    def init_pid(self, vmid: int) -> int:
        """The pid of the guest's init; raises when it does not run."""
        pid = self._find_init(vmid)
        if pid is None:
            raise PveError(f"unable to get PID for CT {vmid} (not running?)")
        return pid

    def stop(self, vmid: int, kill: bool, timeout: int | None, kill_after: bool) -> None:
        """lxc-stop, with Proxmox's arguments, then waits for the monitor to go."""
        command = ["lxc-stop", "-n", str(vmid)]
        if kill:
            command.append("--kill")
        else:
            command += [] if kill_after else ["--nokill"]
            command += [] if timeout is None else ["--timeout", str(timeout)]
        limit = 600.0 if kill or timeout is None else timeout + 5.0 + 60.0 * kill_after
        failure = ""
        try:
            run(command, timeout=limit)
        except PveError as fault:
            failure = fault.text()
            print(failure, file=sys.stderr)
        deadline = time.monotonic() + (5.0 if failure else 60.0)
        while vmid in self.running():
            if time.monotonic() >= deadline:
                raise PveError("container did not stop")
            time.sleep(0.05)

    def write_cgroup(self, vmid: int, file: str, value: str) -> None:
        """Writes to the outer cgroup, which the guest does not see."""
        path = _CGROUP / str(vmid) / file
        try:
            path.write_text(value)
        except OSError as fault:
            raise PveError(f"unable to write '{path}' - {fault.strerror}") from None

    def execute(self, vmid: int, argv: Sequence[str], keep_env: bool) -> int:
        """Becomes lxc-attach, so that streams and exit code are the command's own."""
        environment = "--keep-env" if keep_env else "--clear-env"
        command = ["lxc-attach", "-n", str(vmid), environment]
        sys.stdout.flush()
        os.execvp(command[0], [*command, *(["--", *argv] if argv else [])])  # noqa: S606

    def interfaces(self, vmid: int) -> list[dict[str, object]]:
        """`ip --json a` in the guest's network namespace."""
        return list(json.loads(self._in_network(vmid, ["ip", "--json", "a"])))

    def _in_network(self, vmid: int, argv: list[str]) -> str:
        return run(["nsenter", "-t", str(self.init_pid(vmid)), "--net", "--", *argv])

    def usage(self, vmid: int) -> dict[str, int]:
        """From /proc and the outer cgroup."""
        pid = self._find_init(vmid)
        if pid is None:
            return {"uptime": 0, "mem": 0, "swap": 0}
        started = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        group = _CGROUP / str(vmid)
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return {
            "pid": pid,
            "uptime": int(uptime - started / os.sysconf("SC_CLK_TCK")),
            "mem": int((group / "memory.current").read_text()) - int(stat["file"]),
            "swap": int((group / "memory.swap.current").read_text()),
        }

    def plug_network(self, vmid: int, index: int, net: dict[str, str]) -> None:
        """Makes the pair when it is missing or another one, then its bridge and its addresses."""
        host, name = f"veth{vmid}i{index}", net["name"]
        if not self._same_link(vmid, host, net):
            self.unplug_network(vmid, index)
            pid = str(self.init_pid(vmid))
            run(
                [
                    "ip",
                    "link",
                    "add",
                    host,
                    "type",
                    "veth",
                    "peer",
                    "name",
                    name,
                    "address",
                    net["hwaddr"],
                    "netns",
                    pid,
                ]
            )
        if "bridge" in net:
            run(["ip", "link", "set", host, "master", net["bridge"]])
        run(["ip", "link", "set", host, "up"])
        self._in_network(vmid, ["ip", "link", "set", name, "up"])
        self._in_network(vmid, ["ip", "addr", "flush", "dev", name, "scope", "global"])
        for address, gateway in (("ip", "gw"), ("ip6", "gw6")):
            if "/" in net.get(address, ""):
                self._in_network(vmid, ["ip", "addr", "add", net[address], "dev", name])
                if gateway in net:
                    self._in_network(
                        vmid, ["ip", "route", "replace", "default", "via", net[gateway]]
                    )

    def _same_link(self, vmid: int, host: str, net: dict[str, str]) -> bool:
        if not Path(f"/sys/class/net/{host}").exists():
            return False
        links: list[dict[str, Any]] = self.interfaces(vmid)
        return any(
            link["ifname"] == net["name"] and link["address"] == net["hwaddr"].lower()
            for link in links
        )

    def unplug_network(self, vmid: int, index: int) -> None:
        """Deletes the pair by its end on the node."""
        host = f"veth{vmid}i{index}"
        if Path(f"/sys/class/net/{host}").exists():
            run(["ip", "link", "del", host])

    def plug_mount(self, vmid: int, source: Path, target: str, read_only: bool) -> None:
        """Mounts a directory into the guest's mount namespace."""
        mount_into(self.init_pid(vmid), source, target, read_only)

    def freeze(self, vmid: int, frozen: bool) -> None:
        """Through the cgroup, and waits until it is so."""
        self.write_cgroup(vmid, "cgroup.freeze", str(int(frozen)))
        events = _CGROUP / str(vmid) / "cgroup.events"
        deadline = time.monotonic() + 30
        while f"frozen {int(frozen)}" not in events.read_text():
            if time.monotonic() >= deadline:
                raise PveError(f"unable to {'freeze' if frozen else 'thaw'} CT {vmid}")
            time.sleep(0.02)
