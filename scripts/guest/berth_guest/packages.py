"""Installs what is missing; the network is tested first, so that its fault has its name."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from berth_guest import proc
from berth_guest.failure import Steps, at, die, read

QUERY_TIMEOUT = 30
APT_TIMEOUT = 1500
_APT = [
    "apt-get",
    "--quiet",
    "--yes",
    "-o=Acquire::Retries=2",
    "-o=Acquire::http::Timeout=20",
    "-o=Acquire::https::Timeout=20",
    "-o=DPkg::Lock::Timeout=120",
    "-o=Dpkg::Options::=--force-confdef",
    "-o=Dpkg::Options::=--force-confold",
]
# `file:/…` and `cdrom:` have no host.
_HOST = re.compile(r"\b[a-z][a-z+]*://(?:[^/@\s]*@)?([A-Za-z0-9.-]+)")


def missing(packages: list[str]) -> list[str]:
    """Those of `packages` that are not installed."""
    if not packages:
        return []
    argv = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\\n", *packages]
    shown = proc.attempt(argv, QUERY_TIMEOUT).stdout.splitlines()
    installed = {line.split()[0] for line in shown if line.endswith(" installed")}
    return [name for name in packages if name not in installed]


def ensure(packages: list[str]) -> list[str]:
    """Install what is missing and return it."""
    absent = missing(packages)
    if not absent:
        return []
    refuse_without_network(hosts())
    _apt("update")
    _apt("--no-install-recommends", "install", "--", *absent)
    left = missing(absent)
    if left:
        die(f"apt-get installed no such package: {', '.join(left)}", "name the real package")
    return absent


def _apt(*arguments: str) -> None:
    result = proc.attempt([*_APT, *arguments], APT_TIMEOUT)
    if result.code != 0:
        die(f"packages: apt-get {' '.join(arguments)}: {result.complaint}", "check `packages`")


def hosts() -> list[str]:
    """The hosts that apt fetches from; a repository on the guest's own disk has none."""
    texts = [read("/etc/apt/sources.list") or ""]
    directory = "/etc/apt/sources.list.d"
    for name in sorted(os.listdir(at(directory)) if os.path.isdir(at(directory)) else []):
        if name.endswith((".list", ".sources")):
            texts.append(read(f"{directory}/{name}") or "")
    lines = (line for text in texts for line in text.splitlines())
    found = {host for line in lines if line[:1] != "#" for host in _HOST.findall(line)}
    return sorted(found)


def refuse_without_network(needed: Sequence[str]) -> None:
    """End with the step that fails when one of the `needed` hosts is out of reach."""
    if not needed:
        return
    if not _has_default_route():
        die(
            "network: this guest has no default route, so packages cannot be fetched",
            "check `address`, `gateway`, `bridge` and `vlan` of the agent",
        )
    if _uses_proxy():
        return
    import socket  # slow to load, and most runs install nothing

    for host in needed:
        Steps.enter(f"looking up {host}")
        try:
            socket.getaddrinfo(host, None)
        except OSError as error:
            die(
                f"network: this guest cannot look up {host}: {error}",
                "check `nameserver` of the agent: cat /etc/resolv.conf",
            )


def _has_default_route() -> bool:
    ipv4 = (line.split() for line in (read("/proc/net/route") or "").splitlines()[1:])
    if any(fields[1] == "00000000" for fields in ipv4 if len(fields) > 1):
        return True
    ipv6 = (line.split() for line in (read("/proc/net/ipv6_route") or "").splitlines())
    # The kernel lists an unreachable default on `lo` when there is no other.
    return any(
        fields[0] == "0" * 32 and fields[1] == "00" and fields[-1] != "lo"
        for fields in ipv6
        if fields
    )


def _uses_proxy() -> bool:
    directory = "/etc/apt/apt.conf.d"
    names = os.listdir(at(directory)) if os.path.isdir(at(directory)) else []
    return any("Proxy" in (read(f"{directory}/{name}") or "") for name in names)
