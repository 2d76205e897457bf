#!/usr/bin/python3 -IS
"""The gate: may one more session of this agent start now?

    gate.py --agent NAME --slice-high BYTES --session-memory BYTES --max-sessions N
            --tasks-max N check [--json]

Each agent has a script of its own, /etc/berth/gate, that calls this with its figures. Prints
the decision, the limit that decided, and every figure with its source.

Exit codes: 0 go, 75 not now, 69 cannot tell, 64 wrong use. Never 1, which a crash would be.
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from berth_guest import admission
from berth_guest.failure import CANNOT_TELL, WRONG_USE, BerthError, die, report

USAGE = "usage: berth gate check [--json]"
FIGURES = ("--slice-high", "--session-memory", "--max-sessions", "--tasks-max")


def parse(argv: list[str]) -> tuple[str, list[int], list[str]]:
    """Agent, figures and the caller's words. By hand: argparse would be a third of the time."""
    given: dict[str, str] = {}
    words = list(argv)
    while len(words) >= 2 and words[0] in ("--agent", *FIGURES):
        given[words[0]] = words[1]
        words = words[2:]
    agent, figures = given.get("--agent", ""), [given.get(name, "") for name in FIGURES]
    if not agent or not all(figure.isdecimal() and int(figure) for figure in figures):
        die(USAGE, "the agent's own script calls this with its figures: /etc/berth/gate", WRONG_USE)
    if words not in (["check"], ["check", "--json"]):
        die(USAGE, code=WRONG_USE)
    return agent, [int(figure) for figure in figures], words


def main(argv: list[str]) -> int:
    """Read, decide, say it."""
    try:
        agent, figures, words = parse(argv)
    except BerthError as error:
        return report(error)
    limits = admission.Limits(*figures)
    reading = admission.look(agent)
    decision = admission.decide(limits, reading)
    if "--json" in words:
        import json  # only here: a session's start waits for the gate, and reads no JSON

        print(json.dumps(admission.explain(limits, reading, decision), sort_keys=True))
    else:
        print(admission.describe(limits, reading, decision))
    return admission.CODES[decision.decision]


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except Exception as error:  # a gate that fails must say "cannot tell", never "go"
        print(f"berth: the gate failed: {type(error).__name__}: {error}", file=sys.stderr)
        code = CANNOT_TELL
    sys.exit(code)
