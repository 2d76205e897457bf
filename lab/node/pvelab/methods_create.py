"""POST /nodes/{node}/lxc: a new container from a template."""

from __future__ import annotations

import re

from .config import Config, mount_type, parse_volume
from .errors import PveError, parameter_error
from .guests import CreateSpec
from .method import FLAG, NODE, VMID, Call, Method
from .methods_lxc import clamp_cpu_units
from .methods_status import start as start_method
from .options import SETTABLE
from .pending import Pending
from .permissions import check_modify
from .schema import Prop
from .storage import split_volid
from .tasks import Task

_CREATE_ONLY = {
    "ostemplate": Prop(optional=False, max_length=255),
    "password": Prop(min_length=5),
    "storage": Prop(format="pve-storage-id"),
    "force": FLAG,
    "restore": FLAG,
    "unique": Prop("boolean", requires="restore"),
    "pool": Prop(format="pve-poolid"),
    "ignore-unpack-errors": FLAG,
    "ssh-public-keys": Prop(),
    "bwlimit": Prop("number", minimum=0),
    "start": FLAG,
    "ha-managed": FLAG,
}


def _create(call: Call) -> object:
    params, vmid, node = dict(call.params), call.vmid, call.node
    for key in ("restore", "ha-managed"):
        if params.pop(key, "0") == "1":
            raise PveError(f"'{key}' is not built in this node", 501)
    params.pop("force", None)
    clamp_cpu_units(params)
    unprivileged = params.pop("unprivileged", "1") == "1"
    if not unprivileged:
        call.user.require("/", "Sys.Modify")
    node.require_unused(vmid)
    _check_keys(params.get("ssh-public-keys"))
    if (pool := params.pop("pool", None)) is not None:
        raise PveError(f"pool '{pool}' does not exist")
    if not call.user.may("VM.Allocate"):
        call.user.require(f"/vms/{vmid}", "VM.Allocate")
    start = params.pop("start", "0") == "1"
    spec = CreateSpec(
        params.pop("ostemplate"),
        params.pop("storage", "local"),
        params.pop("password", None),
        params.pop("ssh-public-keys", None),
    )
    for key in ("node", "vmid", "bwlimit", "ignore-unpack-errors"):
        params.pop(key, None)
    check_modify(call.user, vmid, None, params, (), unprivileged)
    call.user.require(
        f"/storage/{spec.template.partition(':')[0]}",
        "Datastore.AllocateSpace",
        "Datastore.Audit",
    )
    disks, rest = _split_disks(params, spec.storage)
    _check_storages(call, disks or {"rootfs": f"{spec.storage}:4"})
    config = Config()
    if errors := Pending(call.guests, vmid, config).update(rest, (), (), running=False):
        raise parameter_error(errors)
    if unprivileged:
        config.options["unprivileged"] = "1"
    call.guests.reserve(vmid)

    def work(_: Task) -> None:
        call.guests.create(vmid, config, spec, disks)
        if start:
            # A task of its own, as in the real node: the provider's own start then meets its lock.
            inner = Call(node, call.user, {"node": node.name, "vmid": str(vmid)}, call.foreground)
            start_method(inner)

    return call.fork("vzcreate", str(vmid), work)


def _check_keys(keys: str | None) -> None:
    for line in (keys or "").splitlines():
        text = line.strip()
        if (
            text
            and not text.startswith("#")
            and not re.search(r"(?:^|\s)(?:ssh-|sk-|ecdsa-)\S+\s+[A-Za-z0-9+/]+={0,3}", text)
        ):
            raise PveError("SSH public key validation error")


def _split_disks(params: dict[str, str], storage: str) -> tuple[dict[str, str], dict[str, str]]:
    disks, rest = {}, {}
    for key, value in params.items():
        if re.fullmatch(r"rootfs|mp\d+", key):
            disks[key] = f"{storage}:{value}" if re.fullmatch(r"\d+(\.\d+)?", value) else value
        elif not key.startswith("unused"):
            rest[key] = value
    if disks and "rootfs" not in disks:
        raise PveError("mount points configured, but 'rootfs' not set - aborting")
    return dict(sorted(disks.items(), key=lambda item: item[0] != "rootfs")), rest


def _check_storages(call: Call, disks: dict[str, str]) -> None:
    for key, value in disks.items():
        source = parse_volume(key, value)["volume"]
        if mount_type(source) != "volume":
            if not call.user.is_root:
                raise PveError("Only root can pass arbitrary filesystem paths.")
            continue
        sid, _ = split_volid(source)
        if "rootdir" not in call.node.storage.config(sid).content:
            raise parameter_error(
                {"storage": f"storage '{sid}' does not support container directories"}
            )
        call.user.require(f"/storage/{sid}", "Datastore.AllocateSpace")


METHODS = [
    Method(
        "POST",
        "/nodes/{node}/lxc",
        _create,
        {**SETTABLE, **_CREATE_ONLY, "node": NODE, "vmid": VMID},
    )
]
