"""Storages: what storage.cfg defines, volume ids, and templates."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from .driver import Volumes
from .errors import PveError
from .text import split_list

_CONTENT = {
    "vztmpl": ("template/cache", r".+\.(tar\.gz|tar\.xz|tar\.zst|tar)"),
    "iso": ("template/iso", r".+\.(iso|img)"),
    "backup": ("dump", r".+"),
    "snippets": ("snippets", r".+"),
}
_SUBVOL = re.compile(r"subvol-(\d+)-disk-(\d+)")


@dataclass(frozen=True)
class StorageConfig:
    """One section of storage.cfg."""

    ident: str
    kind: str
    content: tuple[str, ...]
    path: Path | None = None


def split_volid(volid: str) -> tuple[str, str]:
    """Storage and volume name of a volume id."""
    sid, colon, name = volid.partition(":")
    if not colon or not name or not re.fullmatch(r"[a-z][a-z0-9\-_.]*[a-z0-9]", sid, re.I):
        raise PveError(f"unable to parse volume ID '{volid}'")
    return sid, name


class Storage:
    """The node's storages: directories for templates, one ZFS pool for containers."""

    def __init__(self, root: Path, volumes: Volumes) -> None:
        self._root = root
        self.volumes = volumes

    def configs(self) -> dict[str, StorageConfig]:
        """The storages by name."""
        found: dict[str, StorageConfig] = {}
        kind = ident = ""
        for line in (self._root / "etc/pve/storage.cfg").read_text().splitlines():
            if header := re.fullmatch(r"(\w+):\s*(\S+)\s*", line):
                kind, ident = header[1], header[2]
                found[ident] = StorageConfig(ident, kind, ())
            elif setting := re.fullmatch(r"\s+(\w+)\s+(\S+)\s*", line):
                old = found[ident]
                content = tuple(split_list(setting[2])) if setting[1] == "content" else old.content
                path = Path(setting[2]) if setting[1] == "path" else old.path
                found[ident] = StorageConfig(ident, kind, content, path)
        return found

    def config(self, sid: str) -> StorageConfig:
        """One storage; raises when it is not defined."""
        config = self.configs().get(sid)
        if config is None:
            raise PveError(f"storage '{sid}' does not exist")
        return config

    def require_rootdir(self, volid: str) -> None:
        """Raises unless the storage of a volume may hold containers."""
        sid = split_volid(volid)[0]
        if "rootdir" not in self.config(sid).content:
            raise PveError(f"storage '{sid}' does not allow content type 'rootdir' (Container)")

    def directory(self, config: StorageConfig, content: str) -> Path:
        """Where a directory storage keeps a kind of content."""
        assert config.path is not None
        return self._root / str(config.path).lstrip("/") / _CONTENT[content][0]

    def template(self, volid: str) -> Path:
        """The file of a container template."""
        sid, name = split_volid(volid)
        config = self.config(sid)
        match = re.fullmatch(r"vztmpl/([^/]+\.(?:tar\.gz|tar\.xz|tar\.zst|tar))", name)
        if match is None or config.path is None:
            raise PveError(f"unable to parse directory volume name '{name}'")
        path = self.directory(config, "vztmpl") / match[1]
        if not path.is_file():
            raise PveError(f"volume '{volid}' does not exist")
        return path

    def listing(self, sid: str, content: str | None) -> list[dict[str, object]]:
        """The volumes of a storage, as GET storage/{storage}/content shows them."""
        config = self.config(sid)
        kinds = [k for k in config.content if content in (None, k)]
        if config.path is None:
            return self._subvolumes(sid) if "rootdir" in kinds else []
        found: list[dict[str, object]] = []
        for kind in (k for k in kinds if k in _CONTENT):
            for path in sorted(self.directory(config, kind).glob("*")):
                if not re.fullmatch(_CONTENT[kind][1], path.name) or not path.is_file():
                    continue
                shape = path.name.partition(".")[2] if kind != "vztmpl" else _archive(path.name)
                stat = path.stat()
                found.append(
                    {
                        "volid": f"{sid}:{kind}/{path.name}",
                        "content": kind,
                        "format": shape,
                        "size": stat.st_size,
                        "ctime": int(stat.st_ctime),
                    }
                )
        return found

    def _subvolumes(self, sid: str) -> list[dict[str, object]]:
        return [
            {
                "volid": f"{sid}:{name}",
                "name": name,
                "content": "rootdir",
                "format": "subvol",
                "vmid": int(match[1]),
                "size": self.volumes.size(name),
            }
            for name in self.volumes.names()
            if (match := _SUBVOL.fullmatch(name))
        ]

    def status(self, config: StorageConfig) -> dict[str, object]:
        """Size and content of a storage, as GET storage/{storage}/status shows it."""
        if config.path is None:
            used, available = self.volumes.space()
            total = used + available
        else:
            base = self._root / str(config.path).lstrip("/")
            total, used, available = shutil.disk_usage(base)
        return {
            "type": config.kind,
            "content": ",".join(config.content),
            "active": 1,
            "enabled": 1,
            "shared": 0,
            "total": total,
            "used": used,
            "avail": available,
        }

    def allocate_name(self, vmid: int) -> str:
        """The first free volume name of a container."""
        taken = set(self.volumes.names())
        return next(n for i in range(1000) if (n := f"subvol-{vmid}-disk-{i}") not in taken)

    def free(self, vmid: int, volid: str) -> None:
        """Frees a volume that belongs to the container; of others it only says that it does not."""
        name = self.pool_volume(volid)
        match = _SUBVOL.fullmatch(name)
        if match is None:
            raise PveError(f"unable to parse zfs volume name '{name}'")
        if int(match[1]) == vmid:
            self.volumes.destroy(name)

    def pool_volume(self, volid: str) -> str:
        """The name in the pool of a container's volume."""
        sid, name = split_volid(volid)
        if self.config(sid).kind != "zfspool":
            raise PveError(f"storage '{sid}' does not support container directories")
        return name

    def owned(self, vmid: int) -> list[str]:
        """The names of all volumes of a container."""
        mine = re.compile(rf"subvol-{vmid}-disk-\d+")
        return [name for name in self.volumes.names() if mine.fullmatch(name)]


def _archive(name: str) -> str:
    return {"gz": "tgz", "xz": "txz", "zst": "tzst"}.get(name.rpartition(".")[2], "tar")
