"""Methods of /nodes/{node}/lxc: create, config, resize, destroy, and what is read."""

from __future__ import annotations

from .config import Config, Section
from .errors import BAD_REQUEST, PveError, parameter_error
from .method import DIGEST, FLAG, NODE, VMID, Call, Method, json_value
from .options import OPTIONS, SETTABLE
from .pending import Pending, pending_deletes
from .permissions import check_modify
from .schema import Prop
from .tasks import Task
from .text import split_list

_GUEST = {"node": NODE, "vmid": VMID}
_CONFIG_PRIVILEGES = tuple(
    f"VM.Config.{part}" for part in ("Disk", "CPU", "Memory", "Network", "Options")
)


def check_lock(config: Config) -> None:
    """Raises when something else works on the container."""
    if "lock" in config.options:
        raise PveError(f"CT is locked ({config.options['lock']})")


def check_protection(config: Config, message: str) -> None:
    """Raises when the container is protected."""
    if config.flag("protection"):
        raise PveError(f"{message} - protection mode enabled")


def check_digest(config: Config, digest: str | None) -> None:
    """Raises when the file is not the one that the caller has seen."""
    if digest and digest != config.digest:
        raise PveError("detected modified configuration - file changed by other user? Try again.")


def _list(call: Call) -> object:
    return [
        call.guests.status(vmid)
        for vmid, node, kind in call.node.guests()
        if (node, kind) == (call.node.name, "lxc") and call.user.may("VM.Audit")
    ]


def clamp_cpu_units(params: dict[str, str]) -> None:
    """The kernel takes no weight above 10000."""
    if "cpuunits" in params:
        params["cpuunits"] = str(min(int(params["cpuunits"]), 10000))


def config_json(section: Section) -> dict[str, object]:
    """A section as the API returns it."""
    result: dict[str, object] = {k: json_value(k, v) for k, v in section.options.items()}
    if section.raw:
        result["lxc"] = [list(pair) for pair in section.raw]
    return result


def _get_config(call: Call) -> object:
    config = call.node.load(call.vmid)
    if (name := call.params.get("snapshot")) is not None:
        if call.flag("current"):
            text = "cannot use 'snapshot' parameter with 'current'"
            raise parameter_error({"snapshot": text, "current": text})
        if name not in config.snapshots:
            raise PveError(f"snapshot '{name}' does not exist")
        return {**config_json(config.snapshots[name]), "digest": config.digest}
    if not call.flag("current"):
        deletes = pending_deletes(config)
        config.options.update((k, v) for k, v in config.pending.options.items() if k != "delete")
        for key in deletes:
            # Perl's truth: a value of 0 stays in the answer, deleted or not.
            if config.options.get(key, "") not in ("", "0"):
                del config.options[key]
    return {**config_json(config), "digest": config.digest}


def _put_config(call: Call) -> object:
    params = {k: v for k, v in call.params.items() if k not in ("node", "vmid", "digest")}
    if not params:
        raise PveError("no options specified")
    deletes = split_list(params.pop("delete", ""))
    reverts = split_list(params.pop("revert", ""))
    clamp_cpu_units(params)
    with call.node.lock(call.vmid):
        config = call.node.load(call.vmid)
        check_lock(config)
        check_digest(config, call.params.get("digest"))
        unprivileged = config.flag("unprivileged")
        check_modify(call.user, call.vmid, config, {}, [*deletes, *reverts], unprivileged)
        for name, keys in (("revert", reverts), ("delete", deletes)):
            for key in keys:
                if key not in OPTIONS:
                    raise parameter_error({name: f"unknown option '{key}'"})
                if key in params:
                    raise parameter_error(
                        {name: f"you can't use '-{key}' and '-{name} {key}' at the same time"}
                    )
        check_modify(call.user, call.vmid, config, params, (), unprivileged)
        running = call.node.is_running(call.vmid)
        changes = Pending(call.guests, call.vmid, config)
        if errors := changes.update(params, deletes, reverts, running):
            raise parameter_error(errors)
        call.node.save(call.vmid, config)
        call.guests.generate(call.vmid, call.node.load(call.vmid))
    return None


def _pending(call: Call) -> object:
    config = call.node.load(call.vmid)
    waiting = {k: v for k, v in config.pending.options.items() if k != "delete"}
    deletes = pending_deletes(config)
    result: list[dict[str, object]] = []
    for key, value in {**config.options, "digest": config.digest}.items():
        item: dict[str, object] = {"key": key, "value": json_value(key, value)}
        if key in waiting:
            item["pending"] = json_value(key, waiting.pop(key))
        if key in deletes:
            item["delete"] = 1
            deletes.remove(key)
        result.append(item)
    result += [{"key": key, "pending": json_value(key, v)} for key, v in waiting.items()]
    if config.pending.raw and call.foreground:
        # Only the command line checks results, and a raw key in this section is not a string.
        index = len(result)
        raise PveError(
            "Result verification failed",
            BAD_REQUEST,
            {f"[{index}].pending": "type check ('string') failed - got ARRAY"},
        )
    if config.pending.raw:
        result.append({"key": "lxc", "pending": [list(pair) for pair in config.pending.raw]})
    return [*result, *({"key": key, "delete": 1} for key in deletes)]


def _resize(call: Call) -> object:
    params = call.params

    def checked() -> tuple[Config, int]:
        config = call.node.load(call.vmid)
        check_lock(config)
        call.user.require(f"/vms/{call.vmid}", "VM.Config.Disk")
        check_digest(config, params.get("digest"))
        size = call.guests.disks.resize(call.vmid, config, params["disk"], params["size"])
        return config, size

    def work(_: Task) -> None:
        with call.node.lock(call.vmid):
            config, size = checked()
            call.guests.disks.apply_size(call.vmid, config, params["disk"], size)

    checked()
    return call.fork("resize", str(call.vmid), work)


def _destroy(call: Call) -> object:
    vmid, node = call.vmid, call.node
    running = f"unable to destroy CT {vmid} - container is running"

    def checked() -> Config:
        config = node.load(vmid)
        check_protection(config, f"can't remove CT {vmid}")
        check_lock(config)
        return config

    def work(task: Task) -> None:
        with node.lock(vmid):
            config = checked()
            if node.is_running(vmid):
                if not call.flag("force"):
                    raise PveError(running)
                task.warn(f"forced to stop CT {vmid} before destroying!")
                call.guests.stop(vmid, True, None, False)
            call.guests.destroy(vmid, config, call.flag("destroy-unreferenced-disks"))
            if call.flag("purge"):
                task.print(f"purging CT {vmid} from related configurations..")

    checked()
    if not call.flag("force") and node.is_running(vmid):
        raise PveError(running)
    return call.fork("vzdestroy", str(vmid), work)


def _interfaces(call: Call) -> object:
    if not call.node.is_running(call.vmid):
        return None
    result = []
    for link in call.node.driver.interfaces(call.vmid):
        addresses: list[dict[str, object]] = link.get("addr_info", [])  # type: ignore[assignment]
        item: dict[str, object] = {
            "name": link["ifname"],
            "hwaddr": link["address"],
            "hardware-address": link["address"],
        }
        for address in addresses:
            item[str(address["family"])] = f"{address['local']}/{address['prefixlen']}"
        item["ip-addresses"] = [
            {"ip-address-type": a["family"], "ip-address": a["local"], "prefix": a["prefixlen"]}
            for a in addresses
        ]
        result.append(item)
    return result


def _subdirectories(_: Call) -> object:
    names = ("config", "pending", "status", "snapshot", "interfaces", "resize")
    return [{"subdir": name} for name in names]


_BASE = "/nodes/{node}/lxc"
METHODS = [
    Method("GET", _BASE, _list, {"node": NODE}),
    Method("GET", _BASE + "/{vmid}", _subdirectories, _GUEST),
    Method(
        "DELETE",
        _BASE + "/{vmid}",
        _destroy,
        {**_GUEST, "force": FLAG, "purge": FLAG, "destroy-unreferenced-disks": FLAG},
        ("VM.Allocate",),
    ),
    Method(
        "GET",
        _BASE + "/{vmid}/config",
        _get_config,
        {**_GUEST, "current": FLAG, "snapshot": Prop(format="pve-configid", max_length=40)},
        ("VM.Audit",),
    ),
    Method(
        "PUT",
        _BASE + "/{vmid}/config",
        _put_config,
        {
            **SETTABLE,
            **_GUEST,
            "digest": DIGEST,
            "delete": Prop(format="pve-configid-list"),
            "revert": Prop(format="pve-configid-list"),
        },
        _CONFIG_PRIVILEGES,
    ),
    Method("GET", _BASE + "/{vmid}/pending", _pending, _GUEST, ("VM.Audit",)),
    Method("GET", _BASE + "/{vmid}/interfaces", _interfaces, _GUEST, ("VM.Audit",)),
    Method(
        "PUT",
        _BASE + "/{vmid}/resize",
        _resize,
        {
            **_GUEST,
            "digest": DIGEST,
            "disk": Prop(optional=False, enum=("rootfs", *(k for k in SETTABLE if k[:2] == "mp"))),
            "size": Prop(optional=False, pattern=r"\+?\d+(\.\d+)?[KMGT]?"),
        },
        ("VM.Config.Disk",),
    ),
]
