"""What was applied last: how the next run knows which file, timer or mask has left.

`unfinished` holds the paths of a run that did not end: the next one counts them as changed,
so that no reload or restart is lost between a file's rename and its effect.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from berth_guest.document import File, Manifest
from berth_guest.failure import at, read
from berth_guest.files import commit, digest

PATH = "/var/lib/berth/manifest.json"


class Record(NamedTuple):
    """The state of the guest as of the last run."""

    files: dict[str, str]
    timers: list[str]
    mask: list[str]
    unfinished: list[str]


def load() -> Record:
    """The record, an empty one when there is none or it is no use."""
    try:
        kept = json.loads(read(PATH) or "{}")
        return Record(
            dict(kept.get("files", {})),
            list(kept.get("timers", [])),
            list(kept.get("mask", [])),
            list(kept.get("unfinished", [])),
        )
    except (AttributeError, TypeError, ValueError):
        return Record({}, [], [], [])


def save(record: Record) -> None:
    """Keep `record`; nothing is written when it is the same."""
    text = json.dumps(record._asdict(), sort_keys=True, indent=1) + "\n"
    if read(PATH) != text:
        os.makedirs(at(os.path.dirname(PATH)), mode=0o755, exist_ok=True)
        commit([File(PATH, text, 0o644, "root")], [])


def after(manifest: Manifest) -> Record:
    """The record of a guest that is as `manifest` says."""
    digests = {path: digest(file.content.encode()) for path, file in manifest.files.items()}
    return Record(digests, manifest.timers, manifest.mask, [])


def during(old: Record, new: Record, touched: list[str]) -> Record:
    """The record of a guest on its way from `old` to `new`: it forgets nothing of either."""
    return Record(
        {**new.files, **old.files},
        # A new timer counts only once it was started.
        old.timers,
        sorted({*old.mask, *new.mask}),
        sorted({*old.unfinished, *touched}),
    )
