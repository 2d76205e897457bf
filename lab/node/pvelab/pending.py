"""Pending changes: what a running container takes at once and what waits for the next start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .config import (
    Config,
    add_unused,
    mount_type,
    parse_network,
    parse_volume,
    print_network,
    volume_in_use,
)
from .errors import PveError
from .text import split_list, unique_tags

if TYPE_CHECKING:
    from .guests import Guests

_FAST = frozenset(
    (
        "description",
        "onboot",
        "startup",
        "protection",
        "hostname",
        "hookscript",
        "cores",
        "tags",
        "lock",
    )
)


class _StaysPendingError(Exception):
    """The option cannot be changed while the container runs: it stays pending."""


def memory_limits(mebibytes: int) -> tuple[int, int]:
    """memory.max and Proxmox's own memory.high: 99.2 % of it, from 16 GiB on 128 MiB below it."""
    high = (mebibytes - 128) * 1024 * 1024 if mebibytes >= 16 * 1024 else mebibytes * 1024 * 1016
    return mebibytes * 1024 * 1024, high


def pending_deletes(config: Config) -> list[str]:
    """The options that are to be deleted, sorted."""
    return sorted(key.lstrip("!") for key in split_list(config.pending.options.get("delete", "")))


def _set_deletes(config: Config, keys: Iterable[str]) -> None:
    if wanted := sorted(set(keys)):
        config.pending.options["delete"] = ",".join(wanted)
    else:
        config.pending.options.pop("delete", None)


def _drop_delete(config: Config, key: str) -> None:
    _set_deletes(config, (k for k in pending_deletes(config) if k != key))


def _cleanup(config: Config) -> None:
    for key, value in list(config.pending.options.items()):
        if key != "delete" and config.options.get(key) == value:
            del config.pending.options[key]
    _set_deletes(config, (k for k in pending_deletes(config) if k in config.options))


class Pending:
    """Changes one container's config, through the pending section as Proxmox does."""

    def __init__(self, guests: Guests, vmid: int, config: Config) -> None:
        self._guests = guests
        self._vmid = vmid
        self._config = config

    def update(
        self,
        values: Mapping[str, str],
        deletes: Iterable[str],
        reverts: Iterable[str],
        running: bool,
    ) -> dict[str, str]:
        """Queues the changes and applies what can be; returns what failed, by option."""
        config = self._config
        for key in reverts:
            config.pending.options.pop(key, None)
            _drop_delete(config, key)
        touched = {key for key in deletes if self._queue_delete(key)}
        for key in sorted(values):
            touched.add(key)
            config.pending.options[key] = self._checked(key, values[key])
            _drop_delete(config, key)
        _cleanup(config)
        return self.hotplug(touched) if running else self.apply(touched)

    def _queue_delete(self, key: str) -> bool:
        config = self._config
        if key not in config.options and key not in config.pending.options:
            self._guests.node.warn(f"cannot delete '{key}' - not set in current configuration!")
            return False
        if key in ("memory", "rootfs", "ostype"):
            raise PveError(f"unable to delete required option '{key}'")
        if re.fullmatch(r"(unused|mp)\d+", key):
            self._check_protection(f"can't remove CT {self._vmid} drive '{key}'")
        if key == "unprivileged":
            raise PveError(f"unable to delete read-only option: '{key}'")
        _set_deletes(config, [*pending_deletes(config), key])
        return True

    def _check_protection(self, message: str) -> None:
        if self._config.flag("protection"):
            raise PveError(f"{message} - protection mode enabled")

    def _checked(self, key: str, value: str) -> str:
        if re.fullmatch(r"mp\d+|rootfs", key):
            self._check_protection(f"can't update CT {self._vmid} drive '{key}'")
            volume = parse_volume(key, value)
            if mount_type(volume["volume"]) == "volume":
                self._guests.node.storage.require_rootdir(volume["volume"])
        elif key in ("nameserver", "searchdomain"):
            value = " ".join(split_list(value))
        elif key == "unprivileged":
            raise PveError(f"unable to modify read-only option: '{key}'")
        elif key == "tags":
            value = unique_tags(value)
        elif re.fullmatch(r"net\d+", key):
            self._guests.check_network(key, parse_network(value))
        return value

    def hotplug(self, touched: set[str]) -> dict[str, str]:
        """Applies to a running container what it can take; the rest stays pending."""
        config, pending, errors = self._config, self._config.pending.options, {}
        for key in sorted(_FAST & touched & pending.keys()):
            config.options[key] = pending.pop(key)
        for key in [k for k in pending_deletes(config) if k in touched]:
            try:
                self._hot_delete(key)
            except _StaysPendingError:
                continue
            except PveError as fault:
                errors[key] = f"unable to hotplug {key}: {fault.text()}"
            else:
                config.options.pop(key, None)
                _drop_delete(config, key)
        memory_done = False
        for key in sorted(k for k in pending if k != "delete" and k in touched):
            try:
                if key in ("memory", "swap"):
                    if not memory_done:
                        self._hot_memory(pending.get("memory"), pending.get("swap"))
                    memory_done, value = True, pending[key]
                else:
                    value = self._hot_change(key)
            except _StaysPendingError:
                continue
            except PveError as fault:
                errors[key] = f"unable to hotplug {key}: {fault.text()}"
            else:
                config.options[key] = value
                del pending[key]
        return errors

    def _hot_memory(self, memory: str | None, swap: str | None) -> None:
        """memory.high is Proxmox's own value again, whatever a raw key said at the start."""
        write = self._guests.node.driver.write_cgroup
        if swap is not None:
            write(self._vmid, "memory.swap.max", str(int(swap) * 1024 * 1024))
        if memory is not None:
            limit, high = memory_limits(int(memory))
            write(self._vmid, "memory.high", str(high))
            write(self._vmid, "memory.max", str(limit))

    def _hot_delete(self, key: str) -> None:
        driver = self._guests.node.driver
        if key in _FAST:
            return
        if key.startswith("unused"):
            volid = self._config.options[key]
            if not volume_in_use(self._config, volid):
                self._guests.node.storage.free(self._vmid, volid)
        elif key == "swap":
            driver.write_cgroup(self._vmid, "memory.swap.max", "0")
        elif key == "cpulimit":
            driver.write_cgroup(self._vmid, "cpu.max", "max")
        elif key == "cpuunits":
            driver.write_cgroup(self._vmid, "cpu.weight", "100")
        elif re.fullmatch(r"net\d", key):
            driver.unplug_network(self._vmid, int(key[3:]))
        else:
            raise _StaysPendingError

    def _hot_change(self, key: str) -> str:
        value = self._config.pending.options[key]
        driver = self._guests.node.driver
        if key == "cpulimit":
            driver.write_cgroup(self._vmid, "cpu.max", f"{int(100000 * float(value))} 100000")
        elif key == "cpuunits":
            driver.write_cgroup(self._vmid, "cpu.weight", value)
        elif match := re.fullmatch(r"net(\d+)", key):
            net = self._guests.with_mac(parse_network(value))
            driver.plug_network(self._vmid, int(match[1]), net)
            value = print_network(net)
        elif re.fullmatch(r"mp\d+", key) and key not in self._config.options:
            self._guests.disks.apply_mount_point(self._vmid, self._config, key)
            value = self._config.pending.options[key]
            self._guests.disks.plug_mount(self._vmid, parse_volume(key, value))
        else:
            raise _StaysPendingError
        return value

    def apply(self, touched: set[str] | None = None) -> dict[str, str]:
        """Applies pending changes of a stopped container; all of them without a selection."""
        config, pending, errors = self._config, self._config.pending.options, {}
        for key in [k for k in pending_deletes(config) if touched is None or k in touched]:
            self._cold_delete(key)
            config.options.pop(key, None)
            _drop_delete(config, key)
        _cleanup(config)
        chosen = [k for k in pending if k != "delete" and (touched is None or k in touched)]
        for key in sorted(chosen):
            try:
                if re.fullmatch(r"mp\d+", key):
                    self._guests.disks.apply_mount_point(self._vmid, config, key)
                elif re.fullmatch(r"net\d+", key):
                    net = self._guests.with_mac(parse_network(pending[key]))
                    pending[key] = print_network(net)
            except PveError as fault:
                errors[key] = f"unable to apply pending change {key} : {fault.text()}"
                self._guests.node.warn(errors[key])
            else:
                config.options[key] = pending.pop(key)
        return errors

    def _cold_delete(self, key: str) -> None:
        config = self._config
        if key not in config.options:
            return
        if re.fullmatch(r"mp\d+", key):
            volid = parse_volume(key, config.options.pop(key))["volume"]
            if mount_type(volid) == "volume" and not volume_in_use(config, volid):
                add_unused(config, volid)
        elif key.startswith("unused"):
            volid = config.options.pop(key)
            if not volume_in_use(config, volid):
                self._guests.node.storage.free(self._vmid, volid)
