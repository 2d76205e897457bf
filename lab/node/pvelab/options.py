"""Every option of a container's config, as PVE::LXC::Config describes them."""

from __future__ import annotations

import re

from .schema import Prop

_BOOL = Prop("boolean")
MAX_MOUNT_POINTS = 256
MAX_DEVICES = 256
MAX_NETWORKS = 32

ROOTFS: dict[str, Prop] = {
    "volume": Prop(optional=False, format="pve-lxc-mp-string", default_key=True),
    "size": Prop(format="disk-size"),
    "acl": _BOOL,
    "mountoptions": Prop(
        pattern=r"(discard|lazytime|noatime|nodev|noexec|nosuid)"
        r"(;(discard|lazytime|noatime|nodev|noexec|nosuid))*"
    ),
    "idmap": Prop(pattern=r"passthrough|[ug]:\d+:\d+:[1-9]\d*(;[ug]:\d+:\d+:[1-9]\d*)*"),
    "ro": _BOOL,
    "quota": _BOOL,
    "replicate": _BOOL,
    "shared": _BOOL,
}
MOUNT_POINT: dict[str, Prop] = {
    **ROOTFS,
    "backup": _BOOL,
    "mp": Prop(optional=False, format="pve-lxc-mp-string"),
    "keepattrs": _BOOL,
}
UNUSED: dict[str, Prop] = {
    "volume": Prop(optional=False, format="pve-volume-id", default_key=True),
}
FEATURES: dict[str, Prop] = {
    "mount": Prop(pattern=r"[a-zA-Z0-9_; ]+"),
    **dict.fromkeys(("nesting", "keyctl", "fuse", "mknod", "force_rw_sys"), _BOOL),
}
NETWORK: dict[str, Prop] = {
    "type": Prop(enum=("veth",)),
    "name": Prop(optional=False, pattern=r"[-_.\w\d]+"),
    "bridge": Prop(pattern=r"[-_.\w\d]+"),
    "hwaddr": Prop(format="mac-addr"),
    "mtu": Prop("integer", minimum=64, maximum=65535),
    "ip": Prop(format="pve-ipv4-config"),
    "gw": Prop(format="ipv4"),
    "ip6": Prop(format="pve-ipv6-config"),
    "gw6": Prop(format="ipv6"),
    "firewall": _BOOL,
    "tag": Prop("integer", minimum=1, maximum=4094),
    "trunks": Prop(pattern=r"\d+(?:;\d+)*"),
    "rate": Prop("number"),
    "link_down": _BOOL,
    "host-managed": _BOOL,
}
DEVICE: dict[str, Prop] = {
    "path": Prop(format="pve-lxc-dev-string", default_key=True),
    "mode": Prop(pattern="0[0-7]{3}"),
    "uid": Prop("integer", minimum=0),
    "gid": Prop("integer", minimum=0),
    "deny-write": _BOOL,
}
STARTUP: dict[str, Prop] = {key: Prop("integer", minimum=0) for key in ("order", "up", "down")} | {
    "order": Prop("integer", minimum=0, default_key=True)
}

OPTIONS: dict[str, Prop] = {
    "lock": Prop(
        enum=(
            "backup",
            "create",
            "destroyed",
            "disk",
            "fstrim",
            "migrate",
            "mounted",
            "rollback",
            "snapshot",
            "snapshot-delete",
        )
    ),
    "onboot": _BOOL,
    "startup": Prop(format=STARTUP),
    "template": _BOOL,
    "arch": Prop(enum=("amd64", "i386", "arm64", "armhf", "riscv32", "riscv64")),
    "ostype": Prop(
        enum=(
            "debian",
            "devuan",
            "ubuntu",
            "centos",
            "fedora",
            "opensuse",
            "archlinux",
            "alpine",
            "gentoo",
            "nixos",
            "unmanaged",
        )
    ),
    "console": _BOOL,
    "tty": Prop("integer", minimum=0, maximum=6),
    "cores": Prop("integer", minimum=1, maximum=8192),
    "cpulimit": Prop("number", minimum=0, maximum=8192),
    "cpuunits": Prop("integer", minimum=0, maximum=500000),
    "memory": Prop("integer", minimum=16),
    "swap": Prop("integer", minimum=0),
    "hostname": Prop(format="dns-name", max_length=255),
    "description": Prop(max_length=8192),
    "searchdomain": Prop(format="dns-name-list"),
    "nameserver": Prop(format="ip-list"),
    "timezone": Prop(format="pve-ct-timezone"),
    "rootfs": Prop(format=ROOTFS),
    "parent": Prop(format="pve-configid", max_length=40),
    "snaptime": Prop("integer", minimum=0),
    "cmode": Prop(enum=("shell", "console", "tty")),
    "entrypoint": Prop(pattern=r"[^\x00-\x08\x0a-\x1F\x7F]+"),
    "protection": _BOOL,
    "unprivileged": _BOOL,
    "features": Prop(format=FEATURES),
    "env": Prop(pattern=r"\w+=[^\x00-\x08\x0a-\x1F\x7F]*(\0\w+=[^\x00-\x08\x0a-\x1F\x7F]*)*"),
    "hookscript": Prop(format="pve-volume-id"),
    "tags": Prop(format="pve-tag-list"),
    "debug": _BOOL,
    **dict.fromkeys((f"net{i}" for i in range(MAX_NETWORKS)), Prop(format=NETWORK)),
    **dict.fromkeys((f"mp{i}" for i in range(MAX_MOUNT_POINTS)), Prop(format=MOUNT_POINT)),
    **dict.fromkeys((f"unused{i}" for i in range(MAX_MOUNT_POINTS)), Prop(format=UNUSED)),
    **dict.fromkeys((f"dev{i}" for i in range(MAX_DEVICES)), Prop(format=DEVICE)),
}
# What create and set take: all but what only snapshots write.
SETTABLE = {key: prop for key, prop in OPTIONS.items() if key not in ("parent", "snaptime")}

_RAW_NAMES = """
apparmor.profile apparmor.allow_incomplete apparmor.allow_nesting apparmor.raw selinux.context
include arch uts.name signal.halt signal.reboot signal.stop init.cmd init.cwd init.uid
init.gid init.groups pty.max console.logfile console.path tty.max devtty.dir hook.autodev
autodev kmsg mount.fstab mount.entry mount.auto rootfs.mount cap.drop cap.keep seccomp.profile
seccomp.notify.proxy seccomp.notify.cookie idmap hook.pre-start hook.pre-mount hook.mount
hook.start hook.stop hook.post-stop hook.clone hook.destroy hook.version log.level log.file
start.auto start.delay start.order group environment environment.runtime environment.hooks
sysctl.fs.mqueue sysctl.kernel.msgmax sysctl.kernel.msgmnb sysctl.kernel.msgmni
sysctl.kernel.sem sysctl.kernel.shmall sysctl.kernel.shmmax sysctl.kernel.shmmni
sysctl.kernel.shm_rmid_forced
"""
_RAW_KEYS = frozenset(f"lxc.{key}" for key in _RAW_NAMES.split())
_RAW_REFUSED = {
    "lxc.rootfs.path": "lxc.rootfs.path is auto generated from rootfs",
    "lxc.rootfs.options": "lxc.rootfs.options is not supported, please use mount point options"
    ' in the "rootfs" key',
}


def raw_key_fault(key: str) -> str | None:
    """None for a raw key that is kept, its refusal, or "" for one that Proxmox does not know."""
    if key in _RAW_REFUSED:
        return _RAW_REFUSED[key]
    known = key in _RAW_KEYS or re.match(r"lxc\.(cgroup2|cgroup|prlimit|limit|net)\.", key)
    return None if known else ""
