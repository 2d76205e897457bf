"""The node: where its files are, what drives it, and which guests there are on it and elsewhere."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from . import config as configs
from .config import Config
from .driver import Driver
from .errors import PveError
from .locks import lock_file
from .storage import Storage
from .tasks import Tasks, current

VERSION = {"release": "9.2", "repoid": "2f7a6e5f8d4c1b90", "version": "9.2.11"}
LOCK_TIMEOUT = 10.0


@dataclass
class Node:
    """Everything that the operations on containers need, passed in."""

    root: Path
    name: str
    driver: Driver
    storage: Storage
    tasks: Tasks
    hooks: Path
    lock_timeout: float = LOCK_TIMEOUT

    def path(self, absolute: str) -> Path:
        """A path of the node under this node's root."""
        return self.root / absolute.lstrip("/")

    def warn(self, text: str) -> None:
        """Perl's warn: into the log of the task that runs, else to standard error."""
        task = current()
        if task is not None:
            task.warn(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def guests(self) -> Iterator[tuple[int, str, str]]:
        """Every guest of the cluster: id, node, and `lxc` or `qemu`."""
        for path in sorted(self.path("/etc/pve/nodes").glob("*/*/*.conf")):
            kind = {"lxc": "lxc", "qemu-server": "qemu"}.get(path.parent.name)
            if kind and re.fullmatch(r"[1-9]\d{2,8}", path.stem):
                yield int(path.stem), path.parent.parent.name, kind

    def require_unused(self, vmid: int) -> None:
        """Raises when any guest of the cluster has the id: HTTP 500, which the provider retries."""
        for taken, node, kind in self.guests():
            if taken == vmid:
                name = "VM" if kind == "qemu" else "CT"
                raise PveError(f"{name} {vmid} already exists on node '{node}'")

    def config_path(self, vmid: int) -> Path:
        """The file that holds a container's config."""
        return self.path(f"/etc/pve/nodes/{self.name}/lxc/{vmid}.conf")

    def load(self, vmid: int, quiet: bool = False) -> Config:
        """Reads a container's config."""
        try:
            text = self.config_path(vmid).read_text()
        except FileNotFoundError:
            raise PveError(
                f"Configuration file 'nodes/{self.name}/lxc/{vmid}.conf' does not exist",
                exit_code=2,
            ) from None
        return configs.parse(vmid, text, (lambda _: None) if quiet else self.warn)

    def save(self, vmid: int, config: Config) -> None:
        """Writes a container's config in one step."""
        path = self.config_path(vmid)
        # The digest is that of the text, so it is taken anew by the next reader.
        temporary = path.with_name(f"{path.name}.tmp.{os.getpid()}.{id(config)}")
        temporary.write_text(configs.render(config))
        temporary.chmod(0o640)
        temporary.rename(path)

    def lock(self, vmid: int, timeout: float | None = None) -> AbstractContextManager[None]:
        """Holds Proxmox's lock on a container's config."""
        shown = f"/run/lock/lxc/pve-config-{vmid}.lock"
        return lock_file(self.path(shown), timeout or self.lock_timeout, shown)

    def is_running(self, vmid: int) -> bool:
        """Whether a container runs."""
        return vmid in self.driver.running()


def open_node(root: Path | None = None, driver: str | None = None) -> Node:
    """The node that the environment names: PVELAB_ROOT, PVELAB_DRIVER, PVELAB_LOCK_TIMEOUT."""
    root = root or Path(os.environ.get("PVELAB_ROOT", "/"))
    driver = driver or os.environ.get("PVELAB_DRIVER", "lxc")
    timeout = float(os.environ.get("PVELAB_LOCK_TIMEOUT", LOCK_TIMEOUT))
    name = "pve1" if root != Path("/") else socket.gethostname().partition(".")[0]
    hooks = Path(__file__).resolve().parent.parent / "hooks"
    tasks = Tasks(root / "var/log/pve/tasks", name)
    if driver == "memory":
        from .driver_memory import DirectoryVolumes, MemoryDriver
        from .setup import make_tree

        make_tree(root, name)
        storage = Storage(root, DirectoryVolumes(root))
        return Node(root, name, MemoryDriver(root), storage, tasks, hooks, timeout)
    if driver != "lxc":
        raise SystemExit(f"PVELAB_DRIVER: {driver!r} is neither 'lxc' nor 'memory'")
    from .driver_lxc import LxcDriver
    from .volumes_zfs import ZfsVolumes

    storage = Storage(root, ZfsVolumes("rpool/data"))
    return Node(root, name, LxcDriver(), storage, tasks, hooks, timeout)
