"""The manifest: what it must hold. A fault names its key before anything is changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from berth_guest.failure import WRONG_USE, die
from berth_guest.proc import User

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_UNIT = re.compile(r"[A-Za-z0-9_.@-]+\.(timer|mount|service|socket|target|path)")
_PATH = re.compile(r"(/[^/\x00-\x1f]+)+")

# Written by other tools under their own locks: a file of ours there would lose accounts, or
# give them away.
ACCOUNT_FILES = frozenset(
    f"/etc/{name}{suffix}"
    for name in ("passwd", "shadow", "group", "gshadow", "subuid", "subgid", "sudoers")
    for suffix in ("", "-")
)
FORBIDDEN_TREES = (
    "/dev",
    "/etc/pam.d",
    "/etc/sudoers.d",
    "/proc",
    "/run",
    "/sys",
    "/usr/lib/berth",
)


class File(NamedTuple):
    """One file of the manifest."""

    path: str
    content: str
    mode: int
    owner: str


class Manifest(NamedTuple):
    """The whole of it."""

    user: User
    packages: list[str]
    files: dict[str, File]
    timers: list[str]
    mask: list[str]


def parse(document: Any) -> Manifest:
    """The manifest in `document`, or the end."""
    top = _record("", document, {"agent", "user", "packages", "files", "timers", "mask"})
    fields = _record("user", top["user"], {"name", "uid", "home"})
    name, uid, home = fields["name"], fields["uid"], fields["home"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        _wrong("user.name", "a-z, 0-9, -, at most 31 characters", name)
    if top["agent"] != name:
        _wrong("agent", f"the user's name {name!r}", top["agent"])
    if not isinstance(uid, int) or isinstance(uid, bool) or not 1000 <= uid < 65_534:
        _wrong("user.uid", "a number from 1000 to 65533", uid)
    if home != f"/home/{name}":
        _wrong("user.home", f"/home/{name}", home)

    files = top["files"]
    if not isinstance(files, dict):
        _wrong("files", "an object", files)
    manifest = Manifest(
        User(name, uid, home),
        _names("packages", top["packages"], _PACKAGE),
        {path: _file(path, value, home) for path, value in sorted(files.items())},
        _names("timers", top["timers"], _UNIT),
        _names("mask", top["mask"], _UNIT),
    )
    for timer in manifest.timers:
        if not timer.endswith(".timer") or f"/etc/systemd/user/{timer}" not in manifest.files:
            _wrong("timers", "timers with their unit in `files`", timer)
    return manifest


def _file(path: str, value: Any, home: str) -> File:
    key = f"files[{path!r}]"
    parts = path.split("/")
    if not _PATH.fullmatch(path) or {".", ".."} & set(parts):
        _wrong(key, "an absolute path without `.` and `..`", path)
    if path in ACCOUNT_FILES or any(path.startswith(f"{tree}/") for tree in FORBIDDEN_TREES):
        die(f"manifest: {key}: no manifest may write this file", code=WRONG_USE)
    optional = {"owner"} & set(value) if isinstance(value, dict) else set()
    fields = _record(key, value, {"mode", "content"} | optional)
    mode, owner = fields["mode"], fields.get("owner", "root")
    if not isinstance(mode, str) or not re.fullmatch(r"0[0-7]{3}", mode):
        _wrong(f"{key}.mode", "a mode such as 0644", mode)
    if int(mode, 8) & 0o022:
        _wrong(f"{key}.mode", "a mode that only the owner may write", mode)
    if owner not in ("root", "agent"):
        _wrong(f"{key}.owner", "root or agent", owner)
    if (owner == "agent") != path.startswith(f"{home}/"):
        # In the home the agent may swap any directory: root must not write through it.
        _wrong(f"{key}.owner", f"agent below {home}, root elsewhere", owner)
    if not isinstance(fields["content"], str):
        _wrong(f"{key}.content", "a text", fields["content"])
    return File(path, fields["content"], int(mode, 8), owner)


def _names(key: str, value: Any, pattern: re.Pattern[str]) -> list[str]:
    if not isinstance(value, list):
        _wrong(key, "a list", value)
    for index, entry in enumerate(value):
        if not isinstance(entry, str) or not pattern.fullmatch(entry):
            _wrong(f"{key}[{index}]", f"a name ({pattern.pattern})", entry)
    return sorted(set(value))


def _record(key: str, value: Any, keys: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        _wrong(key or "(the document)", "an object", value)
    prefix = f"{key}." if key else ""
    for unknown in sorted(set(value) - keys):
        die(f"manifest: {prefix}{unknown}: unknown key", code=WRONG_USE)
    for missing in sorted(keys - set(value)):
        die(f"manifest: {prefix}{missing}: missing", code=WRONG_USE)
    return value


def _wrong(key: str, expected: str, value: object) -> NoReturn:
    die(f"manifest: {key}: expected {expected}, got {str(value)[:80]!r}", code=WRONG_USE)
