"""What the node needs from whatever runs its containers and holds their volumes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Driver(Protocol):
    """Runs containers. Every method raises PveError with the real node's text."""

    def running(self) -> set[int]:
        """The ids of the containers that run."""

    def start(self, vmid: int) -> None:
        """Starts a container from /var/lib/lxc/<vmid>/config; returns when it runs."""

    def stop(self, vmid: int, kill: bool, timeout: int | None, kill_after: bool) -> None:
        """Stops a container, cleanly or not, and returns when it is gone."""

    def write_cgroup(self, vmid: int, file: str, value: str) -> None:
        """Writes one file of the container's outer cgroup."""

    def execute(self, vmid: int, argv: Sequence[str], keep_env: bool) -> int:
        """Runs a command in the container with this process's streams; its exit code."""

    def interfaces(self, vmid: int) -> list[dict[str, object]]:
        """The container's interfaces as `ip --json a` shows them in its network namespace."""

    def usage(self, vmid: int) -> dict[str, int]:
        """`pid`, `uptime`, `mem` and `swap` of a running container."""

    def plug_network(self, vmid: int, index: int, net: dict[str, str]) -> None:
        """Adds or changes an interface of a running container."""

    def unplug_network(self, vmid: int, index: int) -> None:
        """Removes an interface of a running container."""

    def plug_mount(self, vmid: int, source: Path, target: str, read_only: bool) -> None:
        """Mounts a directory of the node into a running container."""

    def freeze(self, vmid: int, frozen: bool) -> None:
        """Freezes or thaws a container around a snapshot."""


class Volumes(Protocol):
    """Holds the volumes of one pool. A name is the last part of the dataset's name."""

    def names(self) -> list[str]:
        """The names of all volumes."""

    def create(self, name: str, size: int) -> None:
        """Makes an empty volume of at most `size` bytes (0: no limit)."""

    def create_from(self, name: str, size: int, archive: Path, shift: int) -> None:
        """Makes a volume with a template's content, owners shifted by `shift`."""

    def destroy(self, name: str) -> None:
        """Frees a volume with its snapshots."""

    def path(self, name: str) -> Path:
        """Where the volume is mounted on the node."""

    def size(self, name: str) -> int:
        """The volume's limit in bytes."""

    def resize(self, name: str, size: int) -> None:
        """Changes the limit."""

    def activate(self, name: str) -> None:
        """Makes sure that the volume is mounted."""

    def snapshot(self, name: str, snapshot: str) -> None:
        """Takes a snapshot."""

    def delete_snapshot(self, name: str, snapshot: str) -> None:
        """Frees a snapshot."""

    def snapshots(self, name: str) -> list[str]:
        """The volume's snapshots, the oldest first."""

    def rollback(self, name: str, snapshot: str) -> None:
        """Takes the volume back to a snapshot."""

    def space(self) -> tuple[int, int]:
        """Used and available bytes of the pool."""
