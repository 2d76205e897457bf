"""Snapshots of a container: its volumes' by ZFS, its config in a section of the file."""

from __future__ import annotations

import time
from dataclasses import replace

from .config import Config, Section, add_unused, mount_type, volumes
from .errors import PveError
from .guests import Guests


def _copy(source: Section, target: Section) -> None:
    """What a snapshot keeps and a rollback brings back: raw keys too."""
    for key, value in source.options.items():
        if key in ("snapstate", "snaptime", "lock", "description") or key.startswith("unused"):
            continue
        target.options[key] = value
    target.raw = list(source.raw)


class Snapshots:
    """Takes, lists, deletes and rolls back to snapshots."""

    def __init__(self, guests: Guests) -> None:
        self._guests = guests
        self._node = guests.node

    def _require(self, config: Config, name: str) -> Section:
        if name not in config.snapshots:
            raise PveError(f"snapshot '{name}' does not exist")
        return config.snapshots[name]

    def _check_lock(self, config: Config) -> None:
        if "lock" in config.options:
            raise PveError(f"CT is locked ({config.options['lock']})")

    def _names(self, section: Section) -> list[str]:
        return [self._node.storage.pool_volume(v["volume"]) for _, v in volumes(section)]

    def create(self, vmid: int, name: str, description: str | None) -> None:
        """A bind mount point makes it impossible; a raw `lxc.mount.entry` does not."""
        self._prepare(vmid, name, description)
        running = self._node.is_running(vmid)
        pool = self._node.storage.volumes
        if running:
            self._node.driver.freeze(vmid, True)
        try:
            for volume in self._names(self._node.load(vmid).snapshots[name]):
                pool.snapshot(volume, name)
        finally:
            if running:
                self._node.driver.freeze(vmid, False)
        with self._node.lock(vmid):
            config = self._node.load(vmid)
            self._require(config, name).options.pop("snapstate", None)
            config.options.pop("lock", None)
            config.options["parent"] = name
            self._node.save(vmid, config)

    def _prepare(self, vmid: int, name: str, description: str | None) -> None:
        with self._node.lock(vmid):
            config = self._node.load(vmid)
            if config.flag("template"):
                raise PveError("you can't take a snapshot if it's a template")
            self._check_lock(config)
            if name in config.snapshots:
                raise PveError(f"snapshot name '{name}' already used")
            if any(mount_type(v["volume"]) != "volume" for _, v in volumes(config)):
                raise PveError("snapshot feature is not available")
            snapshot = Section()
            _copy(config, snapshot)
            snapshot.options.update(snapstate="prepare", snaptime=str(int(time.time())))
            if description:
                snapshot.options["description"] = description
            config.snapshots[name] = snapshot
            config.options["lock"] = "snapshot"
            self._node.save(vmid, config)

    def delete(self, vmid: int, name: str, force: bool) -> None:
        """Frees the volumes' snapshots and takes the section out, joining its neighbours."""
        self._require(self._node.load(vmid), name)
        with self._node.lock(vmid):
            config = self._node.load(vmid)
            self._check_lock(config)
            config.options["lock"] = "snapshot-delete"
            self._require(config, name).options["snapstate"] = "delete"
            self._node.save(vmid, config)
        unused = []
        for _, volume in volumes(config.snapshots[name]):
            if mount_type(volume["volume"]) != "volume":
                continue
            try:
                volid = volume["volume"]
                self._node.storage.volumes.delete_snapshot(
                    self._node.storage.pool_volume(volid), name
                )
                unused.append(volid)
            except PveError as fault:
                if not force:
                    raise
                self._node.warn(fault.text())
        with self._node.lock(vmid):
            config = self._node.load(vmid)
            parent = config.snapshots.pop(name).get("parent")
            for section in (config, *config.snapshots.values()):
                if section.get("parent") == name:
                    del section.options["parent"]
                    section.options.update({"parent": parent} if parent else {})
            config.options.pop("lock", None)
            # render() drops those that the container still uses.
            for volid in unused:
                add_unused(config, volid)
            self._node.save(vmid, config)

    def rollback(self, vmid: int, name: str) -> None:
        """Kills the container, takes its volumes and its config back; pending changes are lost."""
        with self._node.lock(vmid):
            config = self._node.load(vmid)
            if config.flag("template"):
                raise PveError("you can't rollback if vm is a template")
            snapshot = self._require(config, name)
            self._possible(snapshot, name)
            if "snapstate" in snapshot.options:
                raise PveError(
                    "unable to rollback to incomplete snapshot "
                    f"(snapstate = {snapshot.options['snapstate']})"
                )
            self._check_lock(config)
            self._guests.stop(vmid, True, None, False)
            config.options["lock"] = "rollback"
            self._node.save(vmid, config)
        for volume in self._names(snapshot):
            self._node.storage.volumes.rollback(volume, name)
        with self._node.lock(vmid):
            config = self._node.load(vmid)
            self._node.save(vmid, self._restored(config, name))

    def _possible(self, snapshot: Section, name: str) -> None:
        for volume in self._names(snapshot):
            latest = self._node.storage.volumes.snapshots(volume)
            if name not in latest:
                raise PveError(f"can't rollback, snapshot '{name}' does not exist on '{volume}'")
            if latest[-1] != name:
                raise PveError(
                    f"can't rollback, '{name}' is not most recent snapshot on 'rpool/data/{volume}'"
                )

    def _restored(self, config: Config, name: str) -> Config:
        snapshot = self._require(config, name)
        kept = {
            key: value
            for key, value in config.options.items()
            if key == "description" or key.startswith("unused")
        }
        restored = replace(config, options=kept, raw=[], pending=Section())
        still = {v["volume"] for _, v in volumes(snapshot)}
        for _, volume in volumes(config):
            if mount_type(volume["volume"]) == "volume" and volume["volume"] not in still:
                add_unused(restored, volume["volume"])
        _copy(snapshot, restored)
        restored.options["parent"] = name
        return restored

    def listing(self, vmid: int) -> list[dict[str, object]]:
        """The snapshots and `current`, as the API lists them."""
        config = self._node.load(vmid)
        found: list[dict[str, object]] = []
        for name, snapshot in config.snapshots.items():
            item: dict[str, object] = {
                "name": name,
                "snaptime": int(snapshot.get("snaptime") or 0),
                "description": snapshot.get("description") or "",
            }
            for key in ("parent", "snapstate"):
                if key in snapshot.options:
                    item[key] = snapshot.options[key]
            found.append(item)
        current: dict[str, object] = {
            "name": "current",
            "digest": config.digest,
            "description": "You are here!",
            "running": int(self._node.is_running(vmid)),
        }
        if "parent" in config.options:
            current["parent"] = config.options["parent"]
        return [*found, current]
