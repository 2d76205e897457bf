"""Volumes as ZFS datasets, named and limited as Proxmox's zfspool storage does it.

A template is unpacked once, into a dataset of its own beside the storage, and each root file
system is a clone of it: under emulation that is the difference between a minute and a second. A
clone counts its whole content against its refquota, can be snapshotted and rolled back, and is
freed like any dataset.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from pathlib import Path

from .command import run
from .errors import PveError
from .locks import lock_file
from .lxc_config import ID_RANGE

_UNPACK_TIMEOUT = 900.0


class ZfsVolumes:
    """The datasets under one parent."""

    def __init__(self, parent: str) -> None:
        self._parent = parent
        self._bases = f"{parent.partition('/')[0]}/lab"

    def _dataset(self, name: str) -> str:
        return f"{self._parent}/{name}"

    def names(self) -> list[str]:
        """The children of the parent."""
        listed = run(["zfs", "list", "-H", "-o", "name", "-d", "1", self._parent]).split()
        return [name.rpartition("/")[2] for name in listed if name != self._parent]

    def create(self, name: str, size: int) -> None:
        """An empty dataset."""
        quota = ["-o", f"refquota={size}"] if size else []
        run(
            [
                "zfs",
                "create",
                "-o",
                "acltype=posixacl",
                "-o",
                "xattr=sa",
                *quota,
                self._dataset(name),
            ]
        )

    def create_from(self, name: str, size: int, archive: Path, shift: int) -> None:
        """A clone of the template's own dataset."""
        snapshot = self.base(archive, shift)
        quota = ["-o", f"refquota={size}"] if size else []
        run(
            [
                "zfs",
                "clone",
                "-o",
                "acltype=posixacl",
                "-o",
                "xattr=sa",
                *quota,
                snapshot,
                self._dataset(name),
            ]
        )

    def base(self, archive: Path, shift: int) -> str:
        """The snapshot that holds a template unpacked; made when it is missing."""
        stat = archive.stat()
        mark = f"{archive.name} {stat.st_size} {stat.st_mtime_ns} {shift}"
        name = hashlib.sha256(mark.encode()).hexdigest()[:12]
        dataset = f"{self._bases}/{name}"
        lock = Path("/run/lock/pvelab-templates.lock")
        with lock_file(lock, _UNPACK_TIMEOUT, str(lock)):
            if not self._exists(f"{dataset}@ready"):
                self._unpack(dataset, archive, shift)
        return f"{dataset}@ready"

    @staticmethod
    def _exists(name: str) -> bool:
        try:
            run(["zfs", "list", "-H", "-t", "all", "-o", "name", name])
        except PveError:
            return False
        return True

    def _unpack(self, dataset: str, archive: Path, shift: int) -> None:
        # What an interrupted run has left is thrown away: only the snapshot says "whole".
        if self._exists(dataset):
            run(["zfs", "destroy", "-r", dataset])
        if not self._exists(self._bases):
            run(
                [
                    "zfs",
                    "create",
                    "-o",
                    "canmount=off",
                    "-o",
                    "mountpoint=/var/lib/pvelab",
                    self._bases,
                ]
            )
        run(
            [
                "zfs",
                "create",
                "-o",
                "acltype=posixacl",
                "-o",
                "xattr=sa",
                "-o",
                "sync=disabled",
                dataset,
            ]
        )
        target = Path("/var/lib/pvelab") / dataset.rpartition("/")[2]
        os.chown(target, shift, shift)
        namespace = [
            "lxc-usernsexec",
            "-m",
            f"u:0:{shift}:{ID_RANGE}",
            "-m",
            f"g:0:{shift}:{ID_RANGE}",
            "--",
        ]
        shape = {".zst": "--zstd", ".gz": "-z", ".xz": "-J"}.get(archive.suffix)
        with archive.open("rb") as stream:
            run(
                [
                    *(namespace if shift else []),
                    "tar",
                    "xpf",
                    "-",
                    *([shape] if shape else []),
                    "--numeric-owner",
                    "--xattrs",
                    "--xattrs-include=user.*",
                    "--xattrs-include=security.capability",
                    "--skip-old-files",
                    "--anchored",
                    "--exclude",
                    "./dev/*",
                    "-C",
                    str(target),
                ],
                timeout=_UNPACK_TIMEOUT,
                stdin=stream,
            )
        run(["zfs", "snapshot", f"{dataset}@ready"])
        run(["zfs", "set", "canmount=noauto", dataset])
        run(["zfs", "unmount", dataset])

    def destroy(self, name: str) -> None:
        """Destroys the dataset; a mount that is just going away is waited for."""
        for attempt in range(6):
            try:
                run(["zfs", "destroy", "-r", self._dataset(name)])
                return
            except PveError as fault:
                if "dataset does not exist" in fault.message:
                    return
                if "busy" not in fault.message or attempt == 5:
                    raise PveError(f"zfs error: {fault.message}") from None
                time.sleep(1)

    def path(self, name: str) -> Path:
        """Where the dataset is mounted."""
        return Path("/") / self._dataset(name)

    def size(self, name: str) -> int:
        """The refquota."""
        return int(run(["zfs", "get", "-Hp", "-o", "value", "refquota", self._dataset(name)]))

    def resize(self, name: str, size: int) -> None:
        """Sets the refquota."""
        run(["zfs", "set", f"refquota={size}", self._dataset(name)])

    def activate(self, name: str) -> None:
        """Mounts the dataset when it is not."""
        if run(["zfs", "get", "-H", "-o", "value", "mounted", self._dataset(name)]).strip() != (
            "yes"
        ):
            run(["zfs", "mount", self._dataset(name)])

    def snapshot(self, name: str, snapshot: str) -> None:
        """Takes a snapshot."""
        run(["zfs", "snapshot", f"{self._dataset(name)}@{snapshot}"])

    def delete_snapshot(self, name: str, snapshot: str) -> None:
        """Destroys a snapshot."""
        run(["zfs", "destroy", f"{self._dataset(name)}@{snapshot}"])

    def snapshots(self, name: str) -> list[str]:
        """The snapshots in the order in which they were taken."""
        listed = run(
            [
                "zfs",
                "list",
                "-H",
                "-t",
                "snapshot",
                "-o",
                "name",
                "-s",
                "createtxg",
                "-d",
                "1",
                self._dataset(name),
            ]
        )
        return [line.partition("@")[2] for line in listed.split()]

    def rollback(self, name: str, snapshot: str) -> None:
        """Rolls back, and mounts again: a rollback may leave the dataset unmounted."""
        run(["zfs", "rollback", f"{self._dataset(name)}@{snapshot}"])
        self.activate(name)

    def space(self) -> tuple[int, int]:
        """Used and available bytes."""
        text = run(["zfs", "get", "-Hp", "-o", "value", "used,available", self._parent])
        used, available = re.findall(r"\d+", text)
        return int(used), int(available)
