"""What a caller may change in a config: check_ct_modify_config_perm and its texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .auth import User
from .config import NEW_VOLUME, Section, features, mount_type, parse_network, parse_volume
from .errors import permission_error


def check_modify(
    user: User,
    vmid: int,
    old: Section | None,
    new: Mapping[str, str],
    deletes: Iterable[str],
    unprivileged: bool,
) -> None:
    """Raises a 403 for the first change that the caller may not make."""
    if user.is_root:
        return
    for key in new:
        _check(user, f"/vms/{vmid}", old, key, new[key], unprivileged)
    for key in deletes:
        _check(user, f"/vms/{vmid}", old, key, None, unprivileged)


def _check(
    user: User, path: str, old: Section | None, key: str, value: str | None, unprivileged: bool
) -> None:
    if key in ("cores", "cpuunits", "cpulimit"):
        user.require(path, "VM.Config.CPU")
    elif re.fullmatch(r"rootfs|mp\d+", key):
        user.require(path, "VM.Config.Disk")
        if value is not None:
            _check_volume(user, key, value)
    elif key in ("memory", "swap"):
        user.require(path, "VM.Config.Memory")
    elif re.fullmatch(r"net\d+", key):
        user.require(path, "VM.Config.Network")
        for network in (old.get(key) if old else None, value):
            if network and (bridge := parse_network(network).get("bridge")):
                user.require(f"/sdn/zones/localnetwork/{bridge}", "SDN.Use")
    elif re.fullmatch(r"dev\d+", key):
        raise permission_error("configuring device passthrough is only allowed for root@pam")
    elif key in ("nameserver", "searchdomain", "hostname"):
        user.require(path, "VM.Config.Network")
    elif key == "features":
        _check_features(user, path, old, value, unprivileged)
    elif key == "hookscript":
        raise permission_error("changing the hookscript is only allowed for root@pam")
    else:
        user.require(path, "VM.Config.Options")


def _check_volume(user: User, key: str, value: str) -> None:
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return
    volume = parse_volume(key, value)["volume"]
    kind = mount_type(volume)
    if kind != "volume":
        raise permission_error(f"mount point type {kind} is only allowed for root@pam")
    if match := NEW_VOLUME.fullmatch(volume):
        user.require(f"/storage/{match[1]}", "Datastore.AllocateSpace")
    else:
        user.require(f"/storage/{volume.partition(':')[0]}", "Datastore.Allocate")


def _check_features(
    user: User, path: str, old: Section | None, value: str | None, unprivileged: bool
) -> None:
    if not unprivileged:
        raise permission_error(
            "changing feature flags for privileged container is only allowed for root@pam"
        )
    before = features(old) if old is not None else {}
    after = features(Section({"features": value})) if value is not None else {}
    if value is not None and before:
        # '' and '0' differ here, as in Perl: the provider's update sends every flag, so even a
        # change of nesting alone is refused.
        changed = {k for k in before | after if before.get(k, "") != after.get(k, "")}
        nesting, other = "nesting" in changed, bool(changed - {"nesting"})
    else:
        flags = after if value is not None else before
        nesting, other = set(flags) == {"nesting"}, bool(flags) and set(flags) != {"nesting"}
    if other:
        raise permission_error(
            "changing feature flags (except nesting) is only allowed for root@pam"
        )
    if nesting:
        user.require(path, "VM.Allocate")
