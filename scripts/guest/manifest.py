#!/usr/bin/python3 -IS
"""Brings the guest to its manifest: packages, account, files, units. Runs as root inside.

The manifest is a JSON document on standard input. Prints one line of JSON: "changed", "removed",
"installed", "restarted" (all empty on a second run), "warnings" and "hostKeys".

Exit codes: 0 done, 1 failed, 64 wrong manifest (nothing was changed), 124 time limit.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from berth_guest import account, document, files, packages, record, units
from berth_guest.child import as_user
from berth_guest.document import File, Manifest
from berth_guest.failure import WRONG_USE, BerthError, Steps, die, limit_time, report

DEADLINE_SECONDS = 900


def apply(manifest: Manifest) -> dict[str, list[str]]:
    """The whole of it, in the order that each step needs the one before."""
    user, old, new = manifest.user, record.load(), record.after(manifest)
    installed = packages.ensure(manifest.packages)
    account.ensure(user)
    skeleton = [file for file in account.skeleton(user) if file.path not in manifest.files]

    roots = [file for file in manifest.files.values() if file.owner == "root"]
    agents = [file for file in manifest.files.values() if file.owner == "agent"]
    gone = {path: old.files[path] for path in sorted(set(old.files) - set(new.files))}
    in_home = {path: value for path, value in gone.items() if path.startswith(f"{user.home}/")}
    root_plan = files.plan(roots, {path: gone[path] for path in gone if path not in in_home})
    agent_plan = files.Plan([], [], [])
    if agents or in_home:
        agent_plan = files.Plan(*as_user(user, lambda: files.plan(agents, in_home)))

    changed = sorted(root_plan.changed + agent_plan.changed)
    removed = sorted(root_plan.removed + agent_plan.removed)
    touched = sorted({*changed, *removed, *old.unfinished})
    if touched:
        record.save(record.during(old, new, touched))

    units.drop_timers(set(old.timers) - set(new.timers), user)
    files.commit(_pick(roots, root_plan.changed), root_plan.removed)
    masked = units.mask(manifest.mask, old.mask)
    if units.below(touched, f"{units.SYSTEM_UNITS}/"):
        units.reload_system()
    home_files = [*skeleton, *_pick(agents, agent_plan.changed)]
    if home_files or agent_plan.removed:
        as_user(user, lambda: files.commit(home_files, agent_plan.removed))

    # After the files: a manager that starts now reads its accounting and delegation from them.
    account.ensure_manager(user)
    if units.below(touched, f"{units.USER_UNITS}/", "/etc/systemd/user.conf.d/"):
        units.reload_user(user)
        units.adjust_slices(manifest.files, touched, user)
    restarted = units.start_timers(manifest.timers, old.timers, touched, user)
    keys = units.host_keys()
    if units.below(touched, units.SSHD):
        restarted += units.reload_sshd()
    record.save(new)
    return {
        "changed": changed + masked,
        "hostKeys": keys,
        "installed": installed,
        "removed": removed,
        "restarted": restarted,
        "warnings": [
            f"{path} left the config but was edited in the guest: it is left there"
            for path in sorted(root_plan.kept + agent_plan.kept)
        ],
    }


def _pick(candidates: list[File], paths: list[str]) -> list[File]:
    return [file for file in candidates if file.path in paths]


def parse(argv: list[str]) -> int:
    """The deadline. By hand: argparse would be a third of this program's start."""
    match argv:
        case []:
            return DEADLINE_SECONDS
        case ["--deadline", seconds] if seconds.isdecimal():
            return max(int(seconds), 1)
    die("usage: manifest.py [--deadline SECONDS] < MANIFEST", code=WRONG_USE)


def read_document() -> Any:
    """The JSON document on standard input."""
    try:
        return json.load(sys.stdin)
    except ValueError as error:
        die(f"standard input is not a JSON document: {error}", code=WRONG_USE)


def main(argv: list[str]) -> int:
    """Read, check, apply, answer."""
    try:
        deadline = parse(argv)
        manifest = document.parse(read_document())
        if os.geteuid() != 0 and not os.environ.get("BERTH_ROOT"):
            die("this needs root in the guest")
        limit_time(deadline)
        os.umask(0o022)
        answer = apply(manifest)
    except BerthError as failure:
        return report(failure)
    except OSError as error:
        return report(BerthError(f"{Steps.current}: {error}"))
    print(json.dumps(answer, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
