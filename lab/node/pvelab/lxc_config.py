"""Renders /var/lib/lxc/<vmid>/config as update_lxc_config does, in its order.

The order is the rule that everything else rests on: LXC writes cgroup keys as they come, so a raw
`lxc.cgroup2.memory.high` after Proxmox's own is the one that stays.
"""

from __future__ import annotations

import random
from pathlib import Path

from .config import Config, features, parse_network
from .errors import PveError
from .pending import memory_limits

ID_BASE = 100000
ID_RANGE = 65536
_SECCOMP = """2
denylist
reject_force_umount  # comment this to allow umount -f;  not recommended
[all]
kexec_load errno 1
open_by_handle_at errno 1
init_module errno 1
finit_module errno 1
delete_module errno 1
ioctl errno 1 [1,0x9400,SCMP_CMP_MASKED_EQ,0xff00]
"""


def id_base(config: Config) -> int:
    """By how much the owner ids of the root file system are shifted."""
    return ID_BASE if config.flag("unprivileged") else 0


def seccomp_rules(config: Config) -> str | None:
    """The seccomp profile of an unprivileged container; None leaves LXC's default."""
    if not config.flag("unprivileged"):
        return None
    keyctl = "" if features(config).get("keyctl") == "1" else "keyctl errno 38\n"
    return _SECCOMP + keyctl + "socket errno 97 [0,38,SCMP_CMP_EQ]\n"


def _apparmor(config: Config) -> list[str]:
    if any(key == "lxc.apparmor.profile" for key, _ in config.raw):
        return []
    flags = features(config)
    lines = ["lxc.apparmor.profile = generated", "lxc.apparmor.raw = allow mqueue,"]
    if flags.get("nesting") == "1":
        lines += ["lxc.apparmor.allow_nesting = 1", "lxc.apparmor.raw = allow userns,"]
    else:
        lines += [
            "lxc.apparmor.raw = deny mount -> /proc/,",
            "lxc.apparmor.raw = deny mount -> /sys/,",
        ]
    lines += [
        f"lxc.apparmor.raw = mount fstype={kind},"
        for kind in flags.get("mount", "").replace(" ", ";").split(";")
        if kind
    ]
    if flags.get("fuse") == "1":
        lines += [
            "lxc.apparmor.raw = mount fstype=fuse,",
            "lxc.mount.entry = /dev/fuse dev/fuse none bind,create=file 0 0",
        ]
    return lines


def _cgroup(config: Config) -> list[str]:
    limit, high = memory_limits(int(config.get("memory") or 512))
    swap = int(config.get("swap") or 0) * 1024 * 1024
    lines = [
        f"lxc.cgroup2.memory.max = {limit}",
        f"lxc.cgroup2.memory.high = {high}",
        f"lxc.cgroup2.memory.swap.max = {swap}",
    ]
    if float(config.get("cpulimit") or 0):
        quota = int(100000 * float(config.options["cpulimit"]))
        lines.append(f"lxc.cgroup2.cpu.max = {quota} 100000")
    if "cpuunits" in config.options:
        lines.append(f"lxc.cgroup2.cpu.weight = {min(int(config.options['cpuunits']), 10000)}")
    return lines


def _networks(vmid: int, config: Config) -> list[str]:
    lines = []
    for key in sorted(k for k in config.options if k.startswith("net")):
        index, net = key[3:], parse_network(config.options[key])
        lines += [
            f"lxc.net.{index}.type = veth",
            f"lxc.net.{index}.veth.pair = veth{vmid}i{index}",
            *([f"lxc.net.{index}.hwaddr = {net['hwaddr']}"] if "hwaddr" in net else []),
            f"lxc.net.{index}.name = {net['name']}",
            f"lxc.net.{index}.mtu = {net.get('mtu', '1500')}",
            # Proxmox plugs the pair by a script, for its firewall; LXC's own way does without.
            *([f"lxc.net.{index}.link = {net['bridge']}"] if "bridge" in net else []),
        ]
    return lines


def _cpuset(config: Config, cpus: list[int]) -> list[str]:
    """Proxmox picks a random set of that size; a raw key of the user's takes its place."""
    cores = int(config.get("cores") or 0)
    if not cores or any(key == "lxc.cgroup2.cpuset.cpus" for key, _ in config.raw):
        return []
    chosen = sorted(random.sample(cpus, min(cores, len(cpus))))
    return [f"lxc.cgroup2.cpuset.cpus = {','.join(map(str, chosen))}"]


def render(
    vmid: int,
    config: Config,
    *,
    directory: Path,
    rootfs: Path,
    mounts: list[str],
    cpus: list[int],
    hooks: Path,
) -> str:
    """The text of the generated config."""
    unprivileged = config.flag("unprivileged")
    if "arch" not in config.options:
        raise PveError("missing 'arch' - internal error")
    if "rootfs" not in config.options:
        raise PveError("missing 'rootfs' configuration")
    share = "/usr/share/lxc/config"
    lines = [
        "lxc.cgroup.relative = 0",
        f"lxc.cgroup.dir.monitor = lxc.monitor/{vmid}",
        f"lxc.cgroup.dir.container = lxc/{vmid}",
        "lxc.cgroup.dir.container.inner = ns",
        f"lxc.arch = {config.options['arch']}",
        f"lxc.include = {share}/common.conf",
    ]
    if unprivileged:
        lines.append(f"lxc.include = {share}/userns.conf")
        if not any(key == "lxc.seccomp.profile" for key, _ in config.raw):
            lines.append(f"lxc.seccomp.profile = {directory}/rules.seccomp")
    lines += _apparmor(config)
    if unprivileged and features(config).get("force_rw_sys") != "1":
        lines.append("lxc.mount.auto = sys:mixed")
    lines.append("lxc.monitor.unshare = 1")
    if unprivileged and not any(key == "lxc.idmap" for key, _ in config.raw):
        lines += [f"lxc.idmap = {kind} 0 {ID_BASE} {ID_RANGE}" for kind in "ug"]
    if config.get("console") == "0":
        lines += ["lxc.console.path = none", "lxc.cgroup2.devices.deny = c 5:1 rwm"]
    lines += [
        f"lxc.tty.max = {config.get('tty') or 2}",
        "lxc.environment = TERM=linux",
        f"lxc.uts.name = {config.get('hostname') or f'CT{vmid}'}",
        *_cgroup(config),
        # Proxmox mounts the volumes in a hook and names <directory>/rootfs here. One subvolume
        # needs no staging; what shows inside the container is the same.
        f"lxc.rootfs.path = dir:{rootfs}",
        *(
            [f"lxc.init.cmd = {config.options['entrypoint']}"]
            if "entrypoint" in config.options
            else []
        ),
        *_networks(vmid, config),
        f"lxc.hook.post-stop = {hooks / 'lxc-pve-poststop-hook'}",
        *(f"lxc.mount.entry = {mount}" for mount in mounts),
        *(
            f"lxc.environment.runtime = {item}"
            for item in config.options.get("env", "").split("\0")
            if item
        ),
        *(f"{key} = {value}" for key, value in config.raw),
        *_cpuset(config, cpus),
    ]
    return "".join(line + "\n" for line in lines)
