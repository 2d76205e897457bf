"""A container's disks: made, resized, plugged, and set aside when something takes their place."""

from __future__ import annotations

import os
from pathlib import Path

from .config import (
    NEW_VOLUME,
    Config,
    add_unused,
    mount_type,
    parse_volume,
    print_volume,
    volume_in_use,
)
from .errors import PveError
from .lxc_config import id_base
from .node import Node
from .text import parse_size


class Disks:
    """Operations on the volumes of containers."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def allocate(
        self, vmid: int, key: str, value: str, made: list[str], archive: Path | None, shift: int
    ) -> str:
        """Makes the volume that `STORAGE:GIGABYTES` asks for; another source is taken as it is."""
        volume = parse_volume(key, value)
        match = NEW_VOLUME.fullmatch(volume["volume"])
        if match is None:
            if key == "rootfs":
                raise PveError("this node makes root file systems only on new volumes")
            return print_volume(key, volume)
        size = int(float(match[2]) * 1024) * 1024 * 1024
        self._node.storage.require_rootdir(volume["volume"])
        name = self._node.storage.allocate_name(vmid)
        pool = self._node.storage.volumes
        made.append(name)
        if archive is not None:
            pool.create_from(name, size, archive, shift)
        else:
            pool.create(name, size)
            if os.geteuid() == 0:
                os.chown(pool.path(name), shift, shift)
        volume.update(volume=f"{match[1]}:{name}", size=str(size))
        return print_volume(key, volume)

    def apply_mount_point(self, vmid: int, config: Config, key: str) -> None:
        """Makes a pending mount point's volume, and sets aside the one that it replaces."""
        value = config.pending.options[key]
        shift = id_base(config)
        config.pending.options[key] = self.allocate(vmid, key, value, [], None, shift)
        if key in config.options:
            old = parse_volume(key, config.options.pop(key))["volume"]
            if mount_type(old) == "volume" and not volume_in_use(config, old):
                add_unused(config, old)

    def plug_mount(self, vmid: int, volume: dict[str, str]) -> None:
        """Mounts a new mount point into the running container."""
        source = volume["volume"]
        path = (
            self._node.path(source)
            if mount_type(source) == "bind"
            else self._node.storage.volumes.path(self._node.storage.pool_volume(source))
        )
        self._node.driver.plug_mount(vmid, path, volume["mp"], volume.get("ro") == "1")

    def resize(self, vmid: int, config: Config, disk: str, size: str) -> int:
        """The new size of a disk; raises for what cannot be done to it."""
        if disk not in config.options:
            raise PveError(f"unable to resize '{disk}' - no such disk")
        volume = parse_volume(disk, config.options[disk])
        name = self._node.storage.pool_volume(volume["volume"])
        before = self._node.storage.volumes.size(name)
        asked = parse_size(size.lstrip("+"))
        if asked is None:
            raise PveError("invalid size string")
        after = before + asked if size.startswith("+") else asked
        if after < before:
            raise PveError("unable to shrink disk size")
        if after == before:
            raise PveError("disk is already at specified size")
        return after

    def apply_size(self, vmid: int, config: Config, disk: str, size: int) -> None:
        """Resizes the volume and records it."""
        volume = parse_volume(disk, config.options[disk])
        self._node.storage.volumes.resize(self._node.storage.pool_volume(volume["volume"]), size)
        config.options[disk] = print_volume(disk, {**volume, "size": str(size)})
        self._node.save(vmid, config)
