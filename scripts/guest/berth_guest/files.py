"""Places and removes files so that a crash leaves each of them old or new, never half.

Every function works with the rights of the process: root's files by root, the agent's by a
child that has become the agent (`as_user`), so that a link planted in the home leads nowhere
that the agent could not go itself. No link in the way is ever followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from berth_guest.document import File
from berth_guest.failure import Steps, at, die

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Plan(NamedTuple):
    """What has to happen: paths to write, paths to remove, paths that somebody edited."""

    changed: list[str]
    removed: list[str]
    kept: list[str]


def digest(content: bytes) -> str:
    """How the record remembers what a file held."""
    return hashlib.sha256(content).hexdigest()


def plan(files: Iterable[File], gone: Mapping[str, str]) -> Plan:
    """Compare `files`, and those that left the manifest with their digest, with the disk."""
    changed = [file.path for file in files if not _is_placed(file)]
    removed: list[str] = []
    kept: list[str] = []
    for path, recorded in sorted(gone.items()):
        content = _content(path)
        if content is not None:
            (removed if digest(content) == recorded else kept).append(path)
    return Plan(changed, removed, kept)


def commit(files: Iterable[File], removed: Iterable[str]) -> None:
    """Write `files`: all of them beside their places first, then each in one rename."""
    staged: list[tuple[int, str, str]] = []
    try:
        for file in files:
            Steps.enter(f"writing {file.path}")
            directory = _open_parent(file.path, create=True)
            name = os.path.basename(file.path)
            temporary = f".{name}.berth-{os.getpid()}"
            staged.append((directory, temporary, name))
            _write(directory, temporary, file)
        while staged:
            directory, temporary, name = staged[-1]
            os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            staged.pop()
            os.fsync(directory)
            os.close(directory)
    finally:
        for directory, temporary, _ in staged:
            _unlink(temporary, directory)
            os.close(directory)
    for path in removed:
        directory = _open_parent(path, create=False)
        _unlink(os.path.basename(path), directory)
        os.close(directory)


def _write(directory: int, temporary: str, file: File) -> None:
    descriptor = os.open(temporary, _NEW, 0o600, dir_fd=directory)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(file.content.encode())
        stream.flush()
        os.fchmod(descriptor, file.mode)
        os.fsync(descriptor)


def _unlink(name: str, directory: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)


def _is_placed(file: File) -> bool:
    try:
        directory = _open_parent(file.path, create=False)
    except FileNotFoundError:
        return False
    try:
        name = os.path.basename(file.path)
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            die(f"{file.path} is a directory", "move it away, then run `up` again")
        exact = (status.st_uid, status.st_gid) == (os.geteuid(), os.getegid())
        if not exact or status.st_mode != stat.S_IFREG | file.mode:
            return False
        return _read(directory, name) == file.content.encode()
    except FileNotFoundError:
        return False
    finally:
        os.close(directory)


def _content(path: str) -> bytes | None:
    """What the regular file `path` holds, or None when there is no such file."""
    try:
        directory = _open_parent(path, create=False)
    except FileNotFoundError:
        return None
    try:
        name = os.path.basename(path)
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        return _read(directory, name) if stat.S_ISREG(status.st_mode) else b""
    except FileNotFoundError:
        return None
    finally:
        os.close(directory)


def _read(directory: int, name: str) -> bytes:
    with os.fdopen(os.open(name, _READ, dir_fd=directory), "rb") as stream:
        return stream.read()


def _open_parent(path: str, create: bool) -> int:
    """The directory of `path`, reached without following a link; missing ones made 0755."""
    directory = os.open(at("/"), _DIRECTORY)
    walked = ""
    for name in path.split("/")[1:-1]:
        walked += f"/{name}"
        try:
            if create:
                _make(name, directory)
            child = os.open(name, _DIRECTORY, dir_fd=directory)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                die(
                    f"{path} is not written: {walked} is a link or no directory",
                    "replace it by a directory, or take the file out of the config",
                )
            raise
        finally:
            os.close(directory)
        directory = child
        status = os.fstat(directory)
        if os.geteuid() == 0 and (status.st_uid != 0 or status.st_mode & stat.S_IWOTH):
            os.close(directory)
            die(f"{path} is not written by root: others may change {walked}")
    return directory


def _make(name: str, directory: int) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=directory)
    except FileExistsError:
        return
    made = os.open(name, _DIRECTORY, dir_fd=directory)
    os.fchmod(made, 0o755)
    os.close(made)
