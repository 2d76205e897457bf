"""Methods of the node's storages and of its tasks."""

from __future__ import annotations

from .errors import PveError
from .method import FLAG, NODE, Call, Method
from .schema import Prop


def _storages(call: Call) -> object:
    wanted = call.params.get("content", "")
    return [
        {"storage": sid, **call.node.storage.status(config)}
        for sid, config in call.node.storage.configs().items()
        if call.params.get("storage") in (None, sid)
        and (not wanted or set(wanted.split(",")) & set(config.content))
    ]


def _storage_config(call: Call) -> object:
    found = []
    for sid, config in call.node.storage.configs().items():
        item: dict[str, object] = {
            "storage": sid,
            "type": config.kind,
            "content": ",".join(config.content),
        }
        item.update({"path": str(config.path)} if config.path else {"pool": "rpool/data"})
        found.append(item)
    return found


def _storage_status(call: Call) -> object:
    storage = call.node.storage
    return storage.status(storage.config(call.params["storage"]))


def _content(call: Call) -> object:
    return call.node.storage.listing(call.params["storage"], call.params.get("content"))


def _volume(call: Call) -> object:
    sid, volume = call.params["storage"], call.params["volume"]
    volid = volume if ":" in volume else f"{sid}:{volume}"
    for item in call.node.storage.listing(sid, None):
        if item["volid"] == volid:
            return {**item, "path": volid, "used": item["size"]}
    raise PveError(f"volume '{volid}' does not exist")


def _task_list(call: Call) -> object:
    start, limit = int(call.params.get("start", "0")), int(call.params.get("limit", "50"))
    kind, vmid = call.params.get("typefilter"), call.params.get("vmid")
    found = []
    for task in call.node.tasks.list():
        task["status"] = task.pop("exitstatus", task["status"])
        if kind in (None, task["type"]) and vmid in (None, task["id"]):
            found.append(task)
    call.total = len(found)
    return found[start : start + limit]


def _task_status(call: Call) -> object:
    return call.node.tasks.status(call.params["upid"])


def _task_log(call: Call) -> object:
    start, limit = int(call.params.get("start", "0")), int(call.params.get("limit", "50"))
    lines, call.total = call.node.tasks.log(call.params["upid"], start, limit)
    return lines


_STORAGE = {"node": NODE, "storage": Prop(optional=False, format="pve-storage-id")}
_UPID = {"node": NODE, "upid": Prop(optional=False)}
_PAGE = {"start": Prop("integer", minimum=0), "limit": Prop("integer", minimum=0)}
_STORAGE_PATH = "/storage/{storage}"
_STORAGE_READ = ("Datastore.Audit", "Datastore.AllocateSpace")
_TASKS = "/nodes/{node}/tasks"
METHODS = [
    Method("GET", "/storage", _storage_config, {"type": Prop()}),
    Method(
        "GET",
        "/nodes/{node}/storage",
        _storages,
        {
            "node": NODE,
            "storage": Prop(format="pve-storage-id"),
            "content": Prop(),
            "enabled": FLAG,
            "target": Prop(),
            "format": FLAG,
        },
    ),
    Method(
        "GET",
        "/nodes/{node}/storage/{storage}/status",
        _storage_status,
        _STORAGE,
        _STORAGE_READ,
        _STORAGE_PATH,
    ),
    Method(
        "GET",
        "/nodes/{node}/storage/{storage}/content",
        _content,
        {**_STORAGE, "content": Prop(), "vmid": Prop("integer", format="pve-vmid")},
        _STORAGE_READ,
        _STORAGE_PATH,
    ),
    Method(
        "GET",
        "/nodes/{node}/storage/{storage}/content/{volume}",
        _volume,
        {**_STORAGE, "volume": Prop(optional=False)},
        _STORAGE_READ,
        _STORAGE_PATH,
    ),
    Method(
        "GET",
        _TASKS,
        _task_list,
        {
            "node": NODE,
            **_PAGE,
            "typefilter": Prop(),
            "vmid": Prop("integer", format="pve-vmid"),
            "source": Prop(enum=("archive", "active", "all")),
            "errors": FLAG,
        },
    ),
    Method("GET", _TASKS + "/{upid}/status", _task_status, _UPID),
    Method("GET", _TASKS + "/{upid}/log", _task_log, {**_UPID, **_PAGE, "download": FLAG}),
]
