"""Mounts a directory of the node into a running guest, as PVE's hot-plug of mount points does.

A detached copy of the mount (open_tree) is carried into the guest's mount namespace and attached
there (move_mount): no path of the guest is ever followed on the node's side.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from .errors import PveError

# From linux/mount.h and the generic system call table.
_SYS_OPEN_TREE, _SYS_MOVE_MOUNT, _SYS_MOUNT_SETATTR = 428, 429, 442
_OPEN_TREE_CLONE, _AT_EMPTY_PATH, _MOVE_MOUNT_F_EMPTY_PATH = 0x1, 0x1000, 0x4
_MOUNT_ATTR_RDONLY = 0x1
_AT_FDCWD = -100


class _MountAttr(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def _call(libc: ctypes.CDLL, number: int, *arguments: object) -> int:
    result = int(libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _attach(pid: int, source: Path, target: str, read_only: bool) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    cwd = ctypes.c_int(_AT_FDCWD)
    flags = ctypes.c_uint(_OPEN_TREE_CLONE | os.O_CLOEXEC)
    tree = _call(libc, _SYS_OPEN_TREE, cwd, str(source).encode(), flags)
    if read_only:
        attr = _MountAttr(attr_set=_MOUNT_ATTR_RDONLY)
        _call(
            libc,
            _SYS_MOUNT_SETATTR,
            ctypes.c_int(tree),
            b"",
            ctypes.c_uint(_AT_EMPTY_PATH),
            ctypes.byref(attr),
            ctypes.c_size_t(ctypes.sizeof(attr)),
        )
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    root = os.open(f"/proc/{pid}/root", os.O_RDONLY | os.O_DIRECTORY)
    if libc.setns(namespace, 0) < 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.fchdir(root)
    os.chroot(".")
    path = Path("/") / target.strip("/")
    path.mkdir(parents=True, exist_ok=True)
    _call(
        libc,
        _SYS_MOVE_MOUNT,
        ctypes.c_int(tree),
        b"",
        cwd,
        bytes(path),
        ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH),
    )


def mount_into(pid: int, source: Path, target: str, read_only: bool) -> None:
    """Does it in a child process: a namespace once entered is not left again."""
    if not source.is_dir():
        raise PveError(f"directory '{source}' does not exist")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 0
        try:
            _attach(pid, source, target, read_only)
        except BaseException as fault:
            os.write(writer, str(fault).encode())
            code = 1
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        message = pipe.read().decode(errors="replace")
    if os.waitpid(child, 0)[1]:
        raise PveError(f"mounting '{source}' into the container failed: {message}")
