"""Edits the raw `lxc.*` keys of a Proxmox container config. Pure: text in, text out.

Proxmox's API cannot set these keys. Its parser dictates the rest: a line after the first
`[section]` belongs to a snapshot or to pending changes and has no effect, and a comment
becomes the container's description, so ours go before the section and carry none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_RAW = re.compile(r"(lxc\.[A-Za-z0-9_.-]+)(?::|\s*=)\s*(.*?)\s*")

OWN_KEYS = frozenset({"lxc.cgroup2.memory.high", "lxc.cgroup2.pids.max", "lxc.prlimit.nofile"})


class RawKey(NamedTuple):
    """One raw line: `key: value`."""

    key: str
    value: str


def parse(line: str) -> RawKey | None:
    """The raw key on `line`, or None when it is another kind of line."""
    match = _RAW.fullmatch(line)
    return RawKey(match[1], match[2]) if match else None


def mount_target(value: str) -> str:
    """The place inside the guest of a `lxc.mount.entry`."""
    fields = value.split()
    return fields[1].strip("/") if len(fields) > 1 else ""


def ownership(targets: Sequence[str], sources: Sequence[str]) -> Callable[[RawKey], bool]:
    """Tells our keys from the operator's: limits always, mounts by their target or source."""

    def ours(raw: RawKey) -> bool:
        if raw.key != "lxc.mount.entry":
            return raw.key in OWN_KEYS
        source = raw.value.split(" ", 1)[0]
        return mount_target(raw.value) in targets or any(
            source == prefix or source.startswith(f"{prefix}/") for prefix in sources
        )

    return ours


def edit(text: str, wanted: Sequence[RawKey], ours: Callable[[RawKey], bool]) -> str:
    """`text` with exactly `wanted` as our keys; the same text when they are there already."""
    lines = text.splitlines()
    section = next((i for i, line in enumerate(lines) if line.startswith("[")), len(lines))
    main, rest = lines[:section], lines[section:]

    present: list[RawKey] = []
    others: list[str] = []
    for line in main:
        raw = parse(line)
        if raw and ours(raw):
            present.append(raw)
        else:
            others.append(line)
    if present == list(wanted):
        return text

    while others and not others[-1].strip():
        others.pop()
    edited = [*others, *(f"{raw.key}: {raw.value}" for raw in wanted)]
    if rest:
        edited += ["", *rest]
    return "\n".join(edited) + "\n"
