"""The parts of a node that are plain files: the config tree, its storages, the first token."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = "debian-13-standard_13.1-2_amd64.tar.zst"
_STORAGE_CFG = """dir: local
\tpath /var/lib/vz
\tcontent iso,vztmpl,backup,snippets

zfspool: local-zfs
\tpool rpool/data
\tcontent images,rootdir
\tsparse 1
"""


def make_config_tree(root: Path, name: str) -> None:
    """/etc/pve as the cluster file system shows it on one node."""
    pve = root / "etc/pve"
    for kind in ("lxc", "qemu-server"):
        (pve / "nodes" / name / kind).mkdir(parents=True, exist_ok=True)
        link = pve / kind
        if not link.is_symlink():
            link.symlink_to(f"nodes/{name}/{kind}")
    local = pve / "local"
    if not local.is_symlink():
        local.symlink_to(f"nodes/{name}")
    storage = pve / "storage.cfg"
    if not storage.exists():
        storage.write_text(_STORAGE_CFG)
    for directory in (
        "run/lock/lxc",
        "var/lib/lxc",
        "var/log/pve/tasks",
        "var/lib/vz/template/cache",
    ):
        (root / directory).mkdir(parents=True, exist_ok=True)


def make_tree(root: Path, name: str) -> None:
    """A whole node of files for the memory driver, with a template that is never unpacked."""
    make_config_tree(root, name)
    template = root / "var/lib/vz/template/cache" / TEMPLATE
    if not template.exists():
        template.write_bytes(b"")
    (root / "rpool/data").mkdir(parents=True, exist_ok=True)
    (root / "sys/fs/cgroup/lxc").mkdir(parents=True, exist_ok=True)
