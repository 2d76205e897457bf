"""What Proxmox writes into a guest's root file system: name, hosts, DNS, network, keys, password.

A guest's tree is hostile ground: it may hold symlinks that lead out. So every write goes through
directory descriptors that are opened without following them.
"""

from __future__ import annotations

import ipaddress
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .config import Config, parse_network
from .errors import PveError
from .text import split_list

_BEGIN, _END = "# --- BEGIN PVE ---", "# --- END PVE ---"
_INTERFACES = "etc/network/interfaces"


class GuestTree:
    """Reads and writes files of a guest that does not run."""

    def __init__(self, root: Path, owner: int) -> None:
        self._root = root
        self._owner = owner

    @contextmanager
    def _directory(self, path: str, create: bool) -> Iterator[tuple[int, str]]:
        *parents, name = path.strip("/").split("/")
        descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parents:
                if create:
                    self._make_directory(part, descriptor)
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                following = os.open(part, flags, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = following
            yield descriptor, name
        finally:
            os.close(descriptor)

    def _make_directory(self, name: str, parent: int) -> None:
        try:
            os.mkdir(name, 0o755, dir_fd=parent)
        except FileExistsError:
            return
        self._chown(name, parent)

    def _chown(self, name: str, directory: int) -> None:
        if os.geteuid() == 0:
            os.chown(name, self._owner, self._owner, dir_fd=directory, follow_symlinks=False)

    def read(self, path: str) -> str | None:
        """The text of a file; None when there is no plain file."""
        try:
            with self._directory(path, create=False) as (directory, name):
                descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
        except OSError:
            return None
        with os.fdopen(descriptor, errors="replace") as file:
            return file.read()

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Puts a file in place of whatever is there; an existing one keeps its mode."""
        with self._directory(path, create=True) as (directory, name):
            try:
                before = os.stat(name, dir_fd=directory, follow_symlinks=False)
                mode = stat.S_IMODE(before.st_mode) if stat.S_ISREG(before.st_mode) else mode
            except FileNotFoundError:
                pass
            temporary = f".{name}.pve-tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
            descriptor = os.open(temporary, flags, 0o600, dir_fd=directory)
            with os.fdopen(descriptor, "w") as file:
                file.write(text)
                os.fchmod(file.fileno(), mode)
            self._chown(temporary, directory)
            os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)

    def modify(self, path: str, section: str) -> None:
        """Replaces Proxmox's own section of a file and leaves the rest of it alone."""
        before = self.read(path) or ""
        kept = re.sub(f"{_BEGIN}\n.*?{_END}\n?", "", before, flags=re.DOTALL).rstrip("\n")
        block = f"{_BEGIN}\n{section}{_END}\n"
        self.write(path, f"{kept}\n{block}" if kept else block)


def _hosts(tree: GuestTree, config: Config, name: str, address: str | None) -> None:
    before = re.sub(f"{_BEGIN}\n.*?{_END}\n?", "", tree.read("etc/hosts") or "", flags=re.DOTALL)
    domains = split_list(config.options.get("searchdomain", ""))
    names = " ".join([*(f"{name}.{domain}" for domain in domains), name])
    section = ""
    if not re.search(r"^\s*127\.0\.0\.1\s", before, re.MULTILINE):
        section += "127.0.0.1 localhost.localnet localhost\n"
    if not re.search(r"^\s*::1\s", before, re.MULTILINE):
        section += "::1 localhost.localnet localhost\n"
    tree.modify("etc/hosts", section + f"{address or '127.0.1.1'} {names}\n")


def _network(tree: GuestTree, net: dict[str, str]) -> None:
    text = (
        f"[Match]\nName = {net['name']}\n\n[Network]\n"
        f"Description = Interface {net['name']} autoconfigured by PVE\n"
    )
    route = ""
    address, gateway = net.get("ip", ""), net.get("gw")
    fixed = address not in ("", "dhcp", "manual")
    if fixed:
        text += f"Address = {address}\n"
    if gateway:
        text += f"Gateway = {gateway}\n"
        inside = fixed and ipaddress.ip_address(gateway) in ipaddress.ip_interface(address).network
        if fixed and not inside:
            route = f"\n[Route]\nDestination = {gateway}/32\nScope = link\n"
    if net.get("ip6", "") not in ("", "auto", "dhcp", "manual"):
        text += f"Address = {net['ip6']}\n"
    if "gw6" in net:
        text += f"Gateway = {net['gw6']}\n"
    dhcp = (address == "dhcp", net.get("ip6") == "dhcp")
    mode = {(0, 0): "no", (1, 0): "ipv4", (0, 1): "ipv6", (1, 1): "yes"}[dhcp]
    accept = net.get("ip6") in ("dhcp", "auto") and "gw6" not in net
    text += f"DHCP = {mode}\nIPv6AcceptRA = {str(accept).lower()}\n{route}"
    tree.write(f"etc/systemd/network/{net['name']}.network", text)


def _stanza(net: dict[str, str]) -> str:
    """An interface's lines for ifupdown, as Proxmox writes them for Debian since 10."""
    name, text = net["name"], f"auto {net['name']}\n"
    for family, address_key, gateway_key in (("inet", "ip", "gw"), ("inet6", "ip6", "gw6")):
        address, gateway = net.get(address_key), net.get(gateway_key)
        if address is None:
            continue
        if address in ("dhcp", "manual", "auto"):
            text += f"iface {name} {family} {address}\n\n"
            continue
        text += f"iface {name} {family} static\n\taddress {address}\n"
        if gateway and ipaddress.ip_address(gateway) in ipaddress.ip_interface(address).network:
            text += f"\tgateway {gateway}\n"
        elif gateway:
            text += (
                f"\t{_BEGIN}\n\tpost-up ip route add {gateway} dev {name}\n"
                f"\tpost-up ip route add default via {gateway} dev {name}\n"
                f"\tpre-down ip route del default via {gateway} dev {name}\n"
                f"\tpre-down ip route del {gateway} dev {name}\n\t{_END}\n"
            )
        text += "\n"
    return text


def _interfaces(tree: GuestTree, before: str, nets: list[dict[str, str]]) -> None:
    """Replaces our interfaces' stanzas and keeps everybody else's."""
    names, kept, ours = {net["name"] for net in nets}, list[str](), False
    for line in before.splitlines():
        words = line.split()
        if words[:1] in (["auto"], ["iface"], ["allow-hotplug"], ["source"], ["mapping"]):
            ours = words[0] in ("auto", "iface") and len(words) > 1 and words[1] in names
        if not ours:
            kept.append(line)
    text = "\n".join(kept).rstrip("\n")
    tree.write(_INTERFACES, (f"{text}\n\n" if text else "") + "".join(map(_stanza, nets)))


def before_start(tree: GuestTree, config: Config, host_dns: str) -> None:
    """What each start brings up to date: host name, hosts, DNS and the network's files."""
    if config.get("ostype") == "unmanaged":
        return
    nets = [parse_network(v) for k, v in sorted(config.options.items()) if k.startswith("net")]
    addresses = [
        str(ipaddress.ip_interface(net["ip"]).ip)
        for net in nets
        if net.get("ip", "") not in ("", "dhcp", "manual")
    ]
    name = config.get("hostname") or "localhost"
    _hosts(tree, config, name, addresses[0] if addresses else None)
    tree.write("etc/hostname", name.partition(".")[0] + "\n")
    # A guest with ifupdown gets its file; one without, networkd's.
    interfaces = tree.read(_INTERFACES)
    if interfaces is not None and nets:
        _interfaces(tree, interfaces, nets)
    for net in nets if interfaces is None else ():
        _network(tree, net)
    if "nameserver" in config.options or "searchdomain" in config.options:
        domains = split_list(config.options.get("searchdomain", ""))
        dns = f"search {' '.join(domains)}\n" if domains else ""
        servers = split_list(config.options.get("nameserver", ""))
        dns += "".join(f"nameserver {server}\n" for server in servers)
    else:
        dns = host_dns
    tree.write("etc/resolv.conf", dns)


def after_create(tree: GuestTree, config: Config, password: str | None, keys: str | None) -> None:
    """What happens once: root's password and ssh keys, and the units that make no sense inside."""
    if config.get("ostype") == "unmanaged":
        return
    if password is not None:
        _set_password(tree, password)
    if keys is not None:
        tree.write("root/.ssh/authorized_keys", keys.rstrip("\n") + "\n", mode=0o600)
    tree.write(
        "etc/systemd/system-preset/00-pve.preset",
        "# Added by PVE at create-time for first-boot configuration.\n"
        "enable container-getty@.service\ndisable getty@.service\n"
        "disable sys-kernel-config.mount\ndisable sys-kernel-debug.mount\n",
    )


def _set_password(tree: GuestTree, password: str) -> None:
    shadow = tree.read("etc/shadow")
    if shadow is None:
        raise PveError("unable to open file '/etc/shadow' - No such file or directory")
    # By standard input: a password in an argument list is readable by everybody.
    hashed = subprocess.run(
        ["openssl", "passwd", "-6", "-stdin"],
        input=password,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()
    tree.write("etc/shadow", re.sub(r"^root:[^:]*:", f"root:{hashed}:", shadow, flags=re.M))


def ostype(tree: GuestTree) -> str:
    """The distribution, as Proxmox finds it out from the tree."""
    release = tree.read("etc/os-release") or tree.read("usr/lib/os-release") or ""
    match = re.search(r'^ID="?([a-z]+)"?$', release, re.MULTILINE)
    known = ("debian", "devuan", "ubuntu", "centos", "fedora", "alpine", "gentoo", "nixos")
    found = match[1] if match else "unmanaged"
    return {"arch": "archlinux"}.get(found, found if found in known else "unmanaged")


def systemd_version(root: Path) -> int | None:
    """systemd's version in a guest, by the name of its shared library."""
    for path in root.glob("usr/lib/*/systemd/libsystemd-shared-*.so"):
        if match := re.search(r"libsystemd-shared-(\d+)", path.name):
            return int(match[1])
    return None
