"""May one more session start? The decision is a pure function of what was read."""

from __future__ import annotations

from typing import Any, NamedTuple

from berth_guest import cgroup
from berth_guest.cgroup import Pressure
from berth_guest.failure import CANNOT_TELL, NOT_NOW

GO = 0
CODES = {"go": GO, "not-now": NOT_NOW, "unknown": CANNOT_TELL}

# Every task of the agent waited for memory in this share (%) of the last ten seconds: the
# slice is being throttled already, and one more session makes all of them slower.
FULL_PRESSURE = 20.0
# A session is a tree of processes, and a fork that fails breaks it half way.
FREE_TASKS = 0.1


class Limits(NamedTuple):
    """The agent's figures, written into its own gate: the guest cannot read its limits."""

    slice_high: int
    session_memory: int
    max_sessions: int
    tasks_max: int


class Reading(NamedTuple):
    """What was read; None is unknown."""

    used: int | None
    sessions: int | None
    tasks: int | None
    pressure: Pressure
    source: str


class Decision(NamedTuple):
    """go, not-now or unknown, the limit that decided, and why in words."""

    decision: str
    limit: str | None
    reason: str


def look(agent: str) -> Reading:
    """Read the agent's figures."""
    nothing = Pressure(None, "unavailable")
    uid = cgroup.uid_of(agent)
    if uid is None:
        return Reading(None, None, None, nothing, f"no user {agent!r} in /etc/passwd")
    if not cgroup.exists(cgroup.user_manager(uid)):
        return Reading(None, None, None, nothing, f"no user manager of {agent!r}: is linger on?")
    own = cgroup.sessions_slice(uid)
    if not cgroup.exists(own):
        # systemd makes the slice with its first unit and removes it after the last one.
        return Reading(0, 0, 0, cgroup.pressure(own), f"no session yet: {own} is not there")
    return Reading(
        cgroup.unreclaimable(own),
        _count(cgroup.populated_units(own)),
        cgroup.tasks(own),
        cgroup.pressure(own),
        f"cgroup {own}",
    )


def decide(limits: Limits, reading: Reading) -> Decision:
    """The first limit that is reached decides; what cannot be read is never taken for zero."""
    used, sessions, tasks = reading.used, reading.sessions, reading.tasks
    if used is None or sessions is None or tasks is None:
        names = {"memory": used, "sessions": sessions, "tasks": tasks}
        unknown = ", ".join(name for name, value in names.items() if value is None)
        return Decision("unknown", None, f"cannot read {unknown} ({reading.source})")
    if sessions >= limits.max_sessions:
        return Decision("not-now", "sessions", f"{sessions} of {limits.max_sessions} run")
    room = limits.slice_high - used
    if room < limits.session_memory:
        reason = f"room for {_mib(room)}, a session needs {_mib(limits.session_memory)}"
        return Decision("not-now", "memory", reason)
    if tasks > limits.tasks_max * (1 - FREE_TASKS):
        return Decision("not-now", "tasks", f"{tasks} of {limits.tasks_max} tasks exist")
    full = reading.pressure.full
    if reading.pressure.source == "cgroup" and full is not None and full >= FULL_PRESSURE:
        return Decision("not-now", "pressure", f"all tasks waited for memory in {full:g} % of 10 s")
    return Decision("go", None, f"room for {_mib(room)}, {sessions} of {limits.max_sessions} run")


def explain(limits: Limits, reading: Reading, decision: Decision) -> dict[str, Any]:
    """The decision with every figure and its source, for `--json`."""
    room = None if reading.used is None else limits.slice_high - reading.used
    return {
        "decision": decision.decision,
        "limit": decision.limit,
        "reason": decision.reason,
        "room": room,
        "memory": {
            "used": reading.used,
            "high": limits.slice_high,
            "session": limits.session_memory,
        },
        "sessions": {"active": reading.sessions, "max": limits.max_sessions},
        "tasks": {"current": reading.tasks, "max": limits.tasks_max},
        "psi": {"fullAvg10": reading.pressure.full, "source": reading.pressure.source},
        "source": reading.source,
    }


def describe(limits: Limits, reading: Reading, decision: Decision) -> str:
    """The same for people: the answer first, then each figure and where it is from."""
    by = f" (limit: {decision.limit})" if decision.limit else ""
    memory = "unknown" if reading.used is None else _mib(reading.used)
    psi = reading.pressure
    full = "unavailable" if psi.full is None else f"full avg10={psi.full:g} % ({psi.source})"
    return "\n".join(
        [
            f"{decision.decision}: {decision.reason}{by}",
            f"memory: {memory} of {_mib(limits.slice_high)} cannot be reclaimed",
            f"sessions: active={_shown(reading.sessions)} of {limits.max_sessions}",
            f"tasks: {_shown(reading.tasks)} of {limits.tasks_max}",
            f"psi: {full}",
            f"source: {reading.source}",
        ]
    )


def _count(units: list[str] | None) -> int | None:
    return None if units is None else len(units)


def _shown(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"
