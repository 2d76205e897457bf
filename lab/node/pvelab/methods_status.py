"""Methods of a container's power state and of its snapshots."""

from __future__ import annotations

from .errors import PveError, parameter_error
from .method import FLAG, NODE, SNAPNAME, VMID, Call, Method
from .methods_lxc import check_lock, config_json
from .schema import Prop
from .snapshots import Snapshots
from .tasks import Task

_GUEST = {"node": NODE, "vmid": VMID}
_SNAPSHOT = {**_GUEST, "snapname": SNAPNAME}


def _current(call: Call) -> object:
    return {**call.guests.status(call.vmid), "ha": {"managed": 0}}


def _require_running(call: Call, kind: str = "CT") -> None:
    if not call.node.is_running(call.vmid):
        raise PveError(f"{kind} {call.vmid} not running")


def _refuse_skiplock(call: Call) -> None:
    if call.flag("skiplock") and not call.user.is_root:
        raise parameter_error({"skiplock": "Only root may use this option."})


def start(call: Call) -> object:
    """POST status/start; also what a create with `start` calls."""
    vmid = call.vmid
    _refuse_skiplock(call)
    if call.node.is_running(vmid):
        raise PveError(f"CT {vmid} already running")

    def work(_: Task) -> None:
        with call.node.lock(vmid):
            config = call.node.load(vmid)
            if config.flag("template"):
                raise PveError("you can't start a CT if it's a template")
            if not call.flag("skiplock") and config.get("lock") != "mounted":
                check_lock(config)
            call.guests.start(vmid, config)

    return call.fork("vzstart", str(vmid), work)


def _stop(call: Call) -> object:
    vmid = call.vmid
    _refuse_skiplock(call)
    _require_running(call)

    def work(_: Task) -> None:
        with call.node.lock(vmid):
            config = call.node.load(vmid)
            if not call.flag("skiplock") and config.get("lock") != "mounted":
                check_lock(config)
            call.guests.stop(vmid, True, None, False)

    return call.fork("vzstop", str(vmid), work)


def _shutdown(call: Call) -> object:
    vmid, timeout = call.vmid, int(call.params.get("timeout", "60"))
    _require_running(call)

    def work(_: Task) -> None:
        with call.node.lock(vmid):
            check_lock(call.node.load(vmid))
            call.guests.stop(vmid, False, timeout, call.flag("forceStop"))

    return call.fork("vzshutdown", str(vmid), work)


def _reboot(call: Call) -> object:
    _require_running(call, "VM")
    timeout = int(call.params["timeout"]) if "timeout" in call.params else None
    return call.fork("vzreboot", str(call.vmid), lambda _: call.guests.reboot(call.vmid, timeout))


def _snapshots(call: Call) -> object:
    return Snapshots(call.guests).listing(call.vmid)


def _snapshot(call: Call) -> object:
    name = call.params["snapname"]
    if name in ("current", "vzdump"):
        raise PveError(f"unable to use snapshot name '{name}' (reserved name)")
    return call.fork(
        "vzsnapshot",
        str(call.vmid),
        lambda _: Snapshots(call.guests).create(call.vmid, name, call.params.get("description")),
    )


def _delete_snapshot(call: Call) -> object:
    return call.fork(
        "vzdelsnapshot",
        str(call.vmid),
        lambda _: Snapshots(call.guests).delete(
            call.vmid, call.params["snapname"], call.flag("force")
        ),
    )


def _rollback(call: Call) -> object:
    def work(_: Task) -> None:
        Snapshots(call.guests).rollback(call.vmid, call.params["snapname"])
        if call.flag("start"):
            start(Call(call.node, call.user, dict(call.params), call.foreground))

    return call.fork("vzrollback", str(call.vmid), work)


def _snapshot_config(call: Call) -> object:
    config, name = call.node.load(call.vmid), call.params["snapname"]
    if name not in config.snapshots:
        raise PveError(f"snapshot '{name}' does not exist")
    result = config_json(config.snapshots[name])
    result.pop("lxc", None)
    return result


_BASE = "/nodes/{node}/lxc/{vmid}"
_POWER = ("VM.PowerMgmt",)
_TIMEOUT = Prop("integer", minimum=0)
METHODS = [
    Method("GET", _BASE + "/status/current", _current, _GUEST, ("VM.Audit",)),
    Method(
        "POST", _BASE + "/status/start", start, {**_GUEST, "skiplock": FLAG, "debug": FLAG}, _POWER
    ),
    Method(
        "POST",
        _BASE + "/status/stop",
        _stop,
        {**_GUEST, "skiplock": FLAG, "overrule-shutdown": FLAG},
        _POWER,
    ),
    Method(
        "POST",
        _BASE + "/status/shutdown",
        _shutdown,
        {**_GUEST, "timeout": _TIMEOUT, "forceStop": FLAG},
        _POWER,
    ),
    Method("POST", _BASE + "/status/reboot", _reboot, {**_GUEST, "timeout": _TIMEOUT}, _POWER),
    Method("GET", _BASE + "/snapshot", _snapshots, _GUEST, ("VM.Audit",)),
    Method(
        "POST",
        _BASE + "/snapshot",
        _snapshot,
        {**_SNAPSHOT, "description": Prop()},
        ("VM.Snapshot",),
    ),
    Method(
        "DELETE",
        _BASE + "/snapshot/{snapname}",
        _delete_snapshot,
        {**_SNAPSHOT, "force": FLAG},
        ("VM.Snapshot",),
    ),
    Method(
        "POST",
        _BASE + "/snapshot/{snapname}/rollback",
        _rollback,
        {**_SNAPSHOT, "start": FLAG},
        ("VM.Snapshot", "VM.Snapshot.Rollback"),
    ),
    Method(
        "GET",
        _BASE + "/snapshot/{snapname}/config",
        _snapshot_config,
        _SNAPSHOT,
        ("VM.Snapshot", "VM.Snapshot.Rollback", "VM.Audit"),
    ),
]
