"""The make-believe Proxmox node that the tests of scripts/node share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from test_support import SandboxTest

MIB = 1 << 20
INIT = 4242

# Live and in the file, as Proxmox does it: a memory change sets a memory.high of its own.
FAKE_PCT = """
group="$BERTH_ROOT/sys/fs/cgroup/lxc/$2"
conf="$BERTH_ROOT/etc/pve/nodes/pve1/lxc/$2.conf"
case "$1" in
set)
  sed -i "s/^memory:.*/memory: $4/; s/^swap:.*/swap: $6/" "$conf"
  echo $(($4 * 1048576)) >"$group/memory.max"
  echo $(($4 * 1016 * 1024)) >"$group/memory.high"
  echo $(($6 * 1048576)) >"$group/memory.swap.max"
  ;;
start)
  echo 'populated 1' >"$group/cgroup.events"
  nofile=$(sed -n 's/^lxc.prlimit.nofile: //p' "$conf")
  echo "Max open files            $nofile $nofile files" >"$BERTH_ROOT/proc/4242/limits"
  ;;
shutdown) echo 'populated 0' >"$group/cgroup.events" ;;
exec)
  case "$*" in
  *manifest.py*)
    cat >"$BERTH_ROOT/manifest-given"
    cat "$BERTH_ROOT/guest-answer"
    ;;
  *is-system-running*) echo running ;;
  esac
  ;;
esac
"""

FAKE_ZFS = """
case "$1" in
get)
  shift 8
  code=0
  for dataset; do
    grep "^$dataset	" "$BERTH_ROOT/zfs" || {
      echo "cannot open '$dataset': dataset does not exist" >&2
      code=1
    }
  done
  exit $code
  ;;
create)
  for dataset; do :; done
  mkdir -p "$BERTH_ROOT/$dataset"
  ;;
esac
"""

GUEST_ANSWER = (
    '{"changed": [], "hostKeys": ["ssh-ed25519 AAAA"], "installed": [],'
    ' "removed": [], "restarted": [], "warnings": []}'
)


class NodeTest(SandboxTest):
    """A node `pve1` with bob's running container 201 and its home."""

    def setUp(self) -> None:
        super().setUp()
        self.fake("pct", FAKE_PCT)
        self.fake("zfs", FAKE_ZFS)
        self.put("etc/hostname", "pve1\n")
        self.put("proc/uptime", "90000.0 1.0\n")
        self.put("proc/self/mounts", "rpool/berth/bob /rpool/berth/bob zfs rw 0 0\n")
        self.put("guest-answer", GUEST_ANSWER)
        self.datasets({"rpool": {}, "rpool/berth": {}, "rpool/berth/bob": self.labels()})
        (self.root / "rpool/berth/bob/home").mkdir(parents=True)
        self.put_container()

    def labels(self, stack: str = "lab", agent: str = "bob") -> dict[str, str]:
        """The properties of an agent's dataset."""
        return {"berth:stack": stack, "berth:agent": agent, "refquota": str(10 << 30)}

    def datasets(self, found: dict[str, dict[str, str]]) -> None:
        """Say which datasets there are."""
        lines = []
        for name, given in found.items():
            defaults = {"mountpoint": f"/{name}", "mounted": "yes", "canmount": "on"}
            unset = {"refquota": "0", "berth:stack": "-", "berth:agent": "-"}
            for key, value in {**defaults, **unset, **given}.items():
                lines.append(f"{name}\t{key}\t{value}\n")
        self.put("zfs", "".join(lines))

    def conf(self, **changes: str) -> str:
        """The config of bob's container."""
        options = {
            "arch": "amd64",
            "cores": "2",
            "hostname": "bob",
            "memory": "512",
            "swap": "0",
            "tags": "berth;berth-lab",
            **changes,
        }
        return "".join(f"{key}: {value}\n" for key, value in options.items())

    def put_conf(self, text: str, place: str = "pve1/lxc/201") -> Path:
        """Write a config into /etc/pve."""
        return self.put(f"etc/pve/nodes/{place}.conf", text)

    def put_container(self, running: bool = True) -> None:
        """Bob's container, with the limits of `document` in force when it runs."""
        self.put_conf(
            self.conf()
            + f"lxc.cgroup2.memory.high: {400 * MIB}\nlxc.cgroup2.pids.max: 512\n"
            + "lxc.prlimit.nofile: 4096\n"
            + "lxc.mount.entry: /rpool/berth/bob/home home/bob none rw,bind,create=dir 0 0\n"
        )
        group = "sys/fs/cgroup/lxc/201"
        self.put(f"{group}/cgroup.events", f"populated {int(running)}\nfrozen 0\n")
        self.put(f"{group}/memory.max", f"{512 * MIB}\n")
        self.put(f"{group}/memory.high", f"{400 * MIB}\n")
        self.put(f"{group}/memory.swap.max", "0\n")
        self.put(f"{group}/pids.max", "512\n")
        self.put(f"{group}/ns/init.scope/cgroup.procs", f"{INIT}\n")
        self.use_memory(100 * MIB)
        self.put(f"proc/{INIT}/status", f"Name:\tsystemd\nNSpid:\t{INIT}\t1\n")
        self.put(f"proc/{INIT}/stat", f"{INIT} (systemd) S " + "0 " * 40)
        self.put(f"proc/{INIT}/limits", "Max open files            4096  4096  files\n")
        self.put(f"proc/{INIT}/root/usr/bin/python3", "")
        (self.root / f"proc/{INIT}/root/home").mkdir()
        (self.root / f"proc/{INIT}/root/home/bob").symlink_to(self.root / "rpool/berth/bob/home")

    def use_memory(self, anonymous: int) -> None:
        """Say how much memory of the container cannot be reclaimed; its cache can."""
        self.put(
            "sys/fs/cgroup/lxc/201/memory.stat",
            f"anon {anonymous}\nfile {300 * MIB}\nkernel {20 * MIB}\nshmem 0\n"
            f"slab_reclaimable {20 * MIB}\n",
        )

    def document(self, **changes: Any) -> dict[str, Any]:
        """What apply is given for bob."""
        limits = {
            "memoryMax": 512 * MIB,
            "memoryHigh": 400 * MIB,
            "swapMax": 0,
            "pidsMax": 512,
            "nofile": 4096,
            "guestReserve": 64 * MIB,
            **changes.pop("limits", {}),
        }
        return {
            "agent": "bob",
            "stack": "lab",
            "node": "pve1",
            "vmid": 201,
            "dataset": "rpool/berth/bob",
            "guestHash": "0123456789ab",
            "restart": "never",
            "deadline": 30,
            "limits": limits,
            "mounts": [
                {"source": "/rpool/berth/bob/home", "target": "home/bob", "readOnly": False}
            ],
            "guest": {"agent": "bob"},
            **changes,
        }

    def take_lock(self, path: str) -> int:
        """Hold one of the node's locks, as another process would."""
        import fcntl

        target = self.put(path)
        descriptor = os.open(target, os.O_RDWR)
        self.addCleanup(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return descriptor
