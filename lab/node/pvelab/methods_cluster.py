"""Methods of the cluster, the node and access."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from .errors import parameter_error
from .method import FLAG, NODE, Call, Method
from .node import VERSION
from .schema import Prop

ADMINISTRATOR = """
Datastore.Allocate Datastore.AllocateSpace Datastore.AllocateTemplate Datastore.Audit
Permissions.Modify Pool.Allocate Pool.Audit SDN.Allocate SDN.Audit SDN.Use Sys.Audit Sys.Console
Sys.Modify Sys.PowerMgmt Sys.Syslog VM.Allocate VM.Audit VM.Backup VM.Clone VM.Config.CDROM
VM.Config.CPU VM.Config.Cloudinit VM.Config.Disk VM.Config.HWType VM.Config.Memory
VM.Config.Network VM.Config.Options VM.Console VM.Migrate VM.PowerMgmt VM.Snapshot
VM.Snapshot.Rollback
"""


def _version(_: Call) -> object:
    return VERSION


def _meminfo() -> tuple[int, int]:
    fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    total, free = (int(fields[k].split()[0]) * 1024 for k in ("MemTotal", "MemAvailable"))
    return total, total - free


def _nodes(call: Call) -> object:
    total, used = _meminfo()
    return [
        {
            "node": call.node.name,
            "id": f"node/{call.node.name}",
            "type": "node",
            "status": "online",
            "level": "",
            "cpu": 0,
            "maxcpu": os.cpu_count() or 1,
            "mem": used,
            "maxmem": total,
            "uptime": _uptime(),
            "disk": 0,
            "maxdisk": 0,
            "ssl_fingerprint": "",
        }
    ]


def _uptime() -> int:
    return int(float(Path("/proc/uptime").read_text().split()[0]))


def _node_status(call: Call) -> object:
    total, used = _meminfo()
    cpus = os.cpu_count() or 1
    release = platform.release()
    return {
        "uptime": _uptime(),
        "cpu": 0,
        "wait": 0,
        "loadavg": [f"{value:.2f}" for value in os.getloadavg()],
        "memory": {"total": total, "used": used, "free": total - used, "available": total - used},
        "swap": {"total": 0, "used": 0, "free": 0},
        "rootfs": {"total": 0, "used": 0, "avail": 0, "free": 0},
        "cpuinfo": {
            "cpus": cpus,
            "cores": cpus,
            "sockets": 1,
            "model": platform.machine(),
            "mhz": "0",
            "flags": "",
            "hvm": "0",
            "user_hz": 100,
        },
        "current-kernel": {
            "sysname": "Linux",
            "release": release,
            "version": platform.version(),
            "machine": platform.machine(),
        },
        "kversion": f"Linux {release}",
        "pveversion": f"pve-manager/{VERSION['version']}",
        "idle": 0,
    }


def _resources(call: Call) -> object:
    kind = call.params.get("type")
    result: list[dict[str, object]] = []
    if kind in (None, "vm"):
        for vmid, node, guest in call.node.guests():
            if not call.user.may("VM.Audit"):
                continue
            item: dict[str, object] = {
                "id": f"{guest}/{vmid}",
                "vmid": vmid,
                "node": node,
                "type": guest,
                "template": 0,
            }
            if (node, guest) == (call.node.name, "lxc"):
                status = call.guests.status(vmid)
                item.update({k: v for k, v in status.items() if k not in ("pid", "type", "cpus")})
                item["maxcpu"] = status["cpus"]
            else:
                item.update(status="unknown")
            result.append(item)
    if kind in (None, "node"):
        result += _nodes(call)  # type: ignore[arg-type]
    if kind in (None, "storage"):
        for sid, config in call.node.storage.configs().items():
            status = call.node.storage.status(config)
            result.append(
                {
                    "id": f"storage/{call.node.name}/{sid}",
                    "storage": sid,
                    "type": "storage",
                    "node": call.node.name,
                    "status": "available",
                    "shared": 0,
                    "content": status["content"],
                    "plugintype": config.kind,
                    "disk": status["used"],
                    "maxdisk": status["total"],
                }
            )
    return result


def _next_id(call: Call) -> object:
    if "vmid" in call.params:
        vmid = int(call.params["vmid"])
        if any(vmid == taken for taken, _, _ in call.node.guests()):
            raise parameter_error({"vmid": f"VM {vmid} already exists"})
        return str(vmid)
    taken = {vmid for vmid, _, _ in call.node.guests()}
    return str(next(i for i in range(100, 1_000_000) if i not in taken))


def _cluster_status(call: Call) -> object:
    return [
        {
            "id": f"node/{call.node.name}",
            "name": call.node.name,
            "type": "node",
            "online": 1,
            "local": 1,
            "nodeid": 0,
            "level": "",
            "ip": "10.210.0.1",
        }
    ]


def _permissions(call: Call) -> object:
    granted = call.user.privileges
    names = ADMINISTRATOR.split() if granted is None else granted
    return {call.params.get("path", "/"): dict.fromkeys(sorted(names), 1)}


def _none(_: Call) -> object:
    return []


def _time(_: Call) -> object:
    now = int(time.time())
    return {"time": now, "localtime": now, "timezone": "UTC"}


METHODS = [
    Method("GET", "/version", _version),
    Method("GET", "/nodes", _nodes),
    Method(
        "GET", "/nodes/{node}/status", _node_status, {"node": NODE}, ("Sys.Audit",), "/nodes/{node}"
    ),
    Method("GET", "/nodes/{node}/version", _version, {"node": NODE}),
    Method("GET", "/nodes/{node}/time", _time, {"node": NODE}, ("Sys.Audit",), "/nodes/{node}"),
    Method("GET", "/nodes/{node}/qemu", _none, {"node": NODE, "full": FLAG}),
    Method(
        "GET",
        "/cluster/resources",
        _resources,
        {"type": Prop(enum=("vm", "storage", "node", "sdn", "network"))},
    ),
    Method("GET", "/cluster/nextid", _next_id, {"vmid": Prop("integer", format="pve-vmid")}),
    Method("GET", "/cluster/status", _cluster_status, {}, ("Sys.Audit",), "/"),
    Method(
        "GET",
        "/cluster/ha/resources",
        _none,
        {"type": Prop(enum=("ct", "vm"))},
        ("Sys.Audit",),
        "/",
    ),
    Method("GET", "/access/permissions", _permissions, {"path": Prop(), "userid": Prop()}),
    Method("GET", "/pools", _none, {"poolid": Prop(format="pve-poolid"), "type": Prop()}),
]
