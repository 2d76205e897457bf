"""The life of a container: create, start, stop, resize, destroy, and what is asked about it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from . import guest_setup, lxc_config
from .config import (
    Config,
    features,
    mount_type,
    parse_network,
    parse_volume,
    volumes,
)
from .disks import Disks
from .errors import PveError
from .guest_setup import GuestTree
from .node import Node
from .pending import Pending
from .tasks import current


@dataclass(frozen=True)
class CreateSpec:
    """What a create brings besides options."""

    template: str
    storage: str
    password: str | None
    ssh_keys: str | None


class Guests:
    """Operations on the containers of one node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.disks = Disks(node)

    def tree(self, config: Config) -> GuestTree:
        """The files of a container that does not run."""
        name = self._root_volume(config)
        return GuestTree(self.node.storage.volumes.path(name), lxc_config.id_base(config))

    def _root_volume(self, config: Config) -> str:
        volume = parse_volume("rootfs", config.options["rootfs"])["volume"]
        return self.node.storage.pool_volume(volume)

    def reserve(self, vmid: int) -> None:
        """Writes the empty config with its lock, so that nobody else takes the id."""
        try:
            with self.node.lock(vmid, 5):
                self.node.require_unused(vmid)
                self.node.save(vmid, Config({"lock": "create"}))
        except PveError as fault:
            raise PveError(f"unable to create CT {vmid} - {fault.text()}") from None

    def create(self, vmid: int, config: Config, spec: CreateSpec, disks: dict[str, str]) -> None:
        """Fills a reserved config: volumes, template, setup; cleans up when anything fails."""
        made: list[str] = []
        with self.node.lock(vmid):
            try:
                archive = self.node.storage.template(spec.template)
                for key, value in (disks or {"rootfs": f"{spec.storage}:4"}).items():
                    source = archive if key == "rootfs" else None
                    shift = lxc_config.id_base(config)
                    config.options[key] = self.disks.allocate(vmid, key, value, made, source, shift)
                tree = self.tree(config)
                config.options.setdefault("arch", "amd64")
                config.options.setdefault("ostype", guest_setup.ostype(tree))
                self.node.save(vmid, Config({**config.options, "lock": "create"}))
                guest_setup.after_create(tree, config, spec.password, spec.ssh_keys)
                self._prepare_tree(config)
                config.options.setdefault("hostname", f"CT{vmid}")
                config.options.setdefault("memory", "512")
                config.options.setdefault("swap", "512")
                self.node.save(vmid, config)
            except (PveError, OSError) as fault:
                for name in made:
                    self.node.storage.volumes.destroy(name)
                self.node.config_path(vmid).unlink()
                text = fault.text() if isinstance(fault, PveError) else str(fault)
                raise PveError(f"unable to create CT {vmid} - {text}") from None

    def check_network(self, key: str, net: dict[str, str]) -> None:
        """Refuses an MTU above the bridge's."""
        path = self.node.path(f"/sys/class/net/{net.get('bridge', '')}/mtu")
        if "mtu" in net and path.is_file() and int(net["mtu"]) > (mtu := int(path.read_text())):
            raise PveError(f"{key}: MTU size '{net['mtu']}' is bigger than bridge MTU '{mtu}'")

    def with_mac(self, net: dict[str, str]) -> dict[str, str]:
        """The network with a hardware address, taken at random from Proxmox's own prefix."""
        tail = ":".join(f"{byte:02X}" for byte in os.urandom(3))
        return {"hwaddr": f"BC:24:11:{tail}", **net}

    def _mounts(self, config: Config) -> list[str]:
        entries = []
        for key, volume in volumes(config):
            if key == "rootfs":
                continue
            source = volume["volume"]
            if mount_type(source) == "volume":
                name = self.node.storage.pool_volume(source)
                source = str(self.node.storage.volumes.path(name))
            mode = "ro" if volume.get("ro") == "1" else "rw"
            target = volume["mp"].strip("/")
            entries.append(f"{source} {target} none {mode},bind,create=dir 0 0")
        return entries

    def generate(self, vmid: int, config: Config) -> None:
        """Writes LXC's config anew: at each start, each set, and each reboot from inside."""
        directory = self.node.path(f"/var/lib/lxc/{vmid}")
        if config.flag("template"):
            (directory / "config").unlink(missing_ok=True)
            return
        directory.mkdir(parents=True, exist_ok=True)
        rules = lxc_config.seccomp_rules(config)
        if rules is not None:
            (directory / "rules.seccomp").write_text(rules)
        text = lxc_config.render(
            vmid,
            config,
            directory=directory,
            rootfs=self.node.storage.volumes.path(self._root_volume(config)),
            mounts=self._mounts(config),
            cpus=sorted(os.sched_getaffinity(0)),
            hooks=self.node.hooks,
        )
        temporary = directory / f"config.tmp.{os.getpid()}"
        temporary.write_text(text)
        temporary.rename(directory / "config")

    def _prepare_tree(self, config: Config) -> None:
        resolv = self.node.path("/etc/resolv.conf")
        dns = "".join(
            line + "\n"
            for line in (resolv.read_text().splitlines() if resolv.is_file() else [])
            if re.match(r"(search|nameserver)\s", line)
        )
        guest_setup.before_start(self.tree(config), config, dns)

    def start(self, vmid: int, config: Config) -> None:
        """Applies pending changes, writes LXC's config and starts the container."""
        if not config.pending.empty():
            Pending(self, vmid, config).apply()
            self.node.save(vmid, config)
            config = self.node.load(vmid)
        self._check_start(config)
        self.generate(vmid, config)
        for _, volume in volumes(config):
            if mount_type(volume["volume"]) == "volume":
                name = self.node.storage.pool_volume(volume["volume"])
                self.node.storage.volumes.activate(name)
            elif not self.node.path(volume["volume"]).is_dir():
                raise PveError(f"directory '{volume['volume']}' does not exist")
        self._prepare_tree(config)
        try:
            self.node.driver.start(vmid)
        finally:
            self._warn_nesting(config)

    def _check_start(self, config: Config) -> None:
        quota = any(volume.get("quota") == "1" for _, volume in volumes(config))
        if quota and config.flag("unprivileged"):
            raise PveError("Quotas are not supported by unprivileged containers.")
        links = self.node.path("/sys/class/net")
        for key in (k for k in config.options if k.startswith("net")):
            bridge = parse_network(config.options[key]).get("bridge")
            if bridge and links.is_dir() and not (links / bridge).exists():
                raise PveError(f"bridge '{bridge}' does not exist")

    def _warn_nesting(self, config: Config) -> None:
        version = guest_setup.systemd_version(
            self.node.storage.volumes.path(self._root_volume(config))
        )
        task = current()
        if version and version > 241 and features(config).get("nesting") != "1" and task:
            task.log_warn(f"Systemd {version} detected. You may need to enable nesting.")

    def stop(self, vmid: int, kill: bool, timeout: int | None, kill_after: bool) -> None:
        """Stops a container; returns at once when it does not run."""
        if self.node.is_running(vmid):
            self.node.driver.stop(vmid, kill, timeout, kill_after)

    def after_stop(self, vmid: int) -> None:
        """The post-stop hook: pending changes are applied also when the guest stopped itself."""
        config = self.node.load(vmid)
        if not config.pending.empty():
            Pending(self, vmid, config).apply()
            self.node.save(vmid, config)
        self.generate(vmid, config)
        self._prepare_tree(config)

    def reboot(self, vmid: int, timeout: int | None) -> None:
        """Stops, killing after the time limit, and starts again with a fresh config."""
        with self.node.lock(vmid):
            if not self.node.is_running(vmid):
                return
            self.stop(vmid, False, timeout, True)
            self.start(vmid, self.node.load(vmid))

    def destroy(self, vmid: int, config: Config, unreferenced: bool) -> None:
        """Frees the container's own volumes, and nothing that a bind mount names."""
        storage, seen = self.node.storage, set()
        for section in (config, config.pending):
            for _, volume in volumes(section, unused=True):
                volid = volume["volume"]
                if volid not in seen and mount_type(volid) == "volume":
                    storage.free(vmid, volid)
                seen.add(volid)
        if unreferenced:
            for name in storage.owned(vmid):
                storage.volumes.destroy(name)
        directory = self.node.path(f"/var/lib/lxc/{vmid}")
        # rules.seccomp stays, as on the real node.
        (directory / "config").unlink(missing_ok=True)
        self.node.save(vmid, Config({"lock": "destroyed"}))
        self.node.config_path(vmid).unlink()

    def status(self, vmid: int) -> dict[str, object]:
        """The container as status/current and the lists show it."""
        config = self.node.load(vmid, quiet=True)
        running = self.node.is_running(vmid)
        root = config.get("rootfs")
        size = int(parse_volume("rootfs", root).get("size", 4 << 30)) if root else 4 << 30
        cpus = config.get("cores") or config.get("cpulimit") or str(os.cpu_count() or 1)
        result: dict[str, object] = {
            "vmid": vmid,
            "type": "lxc",
            "status": "running" if running else "stopped",
            "name": config.get("hostname") or f"CT{vmid}",
            "cpus": float(cpus) if "." in cpus else int(cpus),
            "maxdisk": size,
            "disk": 0,
            "mem": 0,
            "swap": 0,
            "uptime": 0,
            "cpu": 0,
            "maxmem": int(config.get("memory") or 512) << 20,
            "maxswap": int(config.get("swap") or 0) << 20,
            "netin": 0,
            "netout": 0,
            "diskread": 0,
            "diskwrite": 0,
        }
        for key in ("tags", "lock"):
            if key in config.options:
                result[key] = config.options[key]
        if config.flag("template"):
            result["template"] = 1
        if running:
            result.update(self.node.driver.usage(vmid))
        return result
