"""The container's config file: read and written exactly as parse_pct_config and its writer do.

Three habits of that pair matter to whoever edits the file by hand: `#` lines become the
description and move to the top, unknown `lxc.*` keys are dropped with a warning, and everything
after the first `[section]` belongs to a snapshot or to the pending changes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .errors import PveError
from .options import FEATURES, MOUNT_POINT, NETWORK, OPTIONS, ROOTFS, UNUSED, raw_key_fault
from .schema import fault_of, parse_property_string, print_property_string
from .text import decode_text, encode_text, parse_size

_PENDING = re.compile(r"\[pve:pending\]\s*", re.IGNORECASE)
_SECTION = re.compile(r"\[([a-z][a-z0-9_\-]+)\]\s*", re.IGNORECASE)
_RAW = re.compile(r"(lxc\.[a-z0-9_\-.]+)(?::|\s*=)\s*(.*?)\s*")
_OPTION = re.compile(r"([a-z][a-z_]*\d*):\s*(.+?)\s*")
_VOLUME_KEY = re.compile(r"rootfs|mp\d+")
NEW_VOLUME = re.compile(r"([^:\s]+):(\d+(?:\.\d+)?)")

Warn = Callable[[str], None]


@dataclass
class Section:
    """One section of the file. Values are the text of the file, booleans as 0 and 1."""

    options: dict[str, str] = field(default_factory=dict)
    raw: list[tuple[str, str]] = field(default_factory=list)

    def get(self, key: str) -> str | None:
        """The value of an option, None when it is not set."""
        return self.options.get(key)

    def flag(self, key: str) -> bool:
        """Whether a boolean option is set and true."""
        return self.options.get(key, "0") not in ("0", "")

    def empty(self) -> bool:
        """Whether there is nothing in the section."""
        return not self.options and not self.raw


@dataclass
class Config(Section):
    """A whole config file."""

    pending: Section = field(default_factory=Section)
    snapshots: dict[str, Section] = field(default_factory=dict)
    digest: str = ""


def _typed(key: str, value: str) -> str:
    """The value as `check_type` returns it; raises with its text."""
    prop = OPTIONS.get(key)
    if prop is None:
        raise PveError(f"unknown setting '{key}'")
    if prop.type == "boolean":
        lowered = value.lower()
        if lowered in ("1", "on", "yes", "true"):
            return "1"
        if lowered in ("0", "off", "no", "false"):
            return "0"
        raise PveError(f"type check ('boolean') failed - got '{value}'")
    if prop.type == "integer":
        if not re.fullmatch(r"\d+", value):
            raise PveError(f"type check ('integer') failed - got '{value}'")
        return str(int(value))
    if prop.type == "number" and not re.fullmatch(r"\d+(\.\d+)?", value):
        raise PveError(f"type check ('number') failed - got '{value}'")
    if prop.format is not None and (fault := fault_of(prop, value)):
        raise PveError(fault.removeprefix("invalid format - ").rstrip("\n"))
    return value


def parse(vmid: int, text: str, warn: Warn) -> Config:
    """Reads a config; what cannot be read is reported to `warn` and dropped."""
    config = Config(digest=hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
    section: Section = config
    description = ""
    for line in text.split("\n"):
        if not line.strip():
            continue
        pending, snapshot = _PENDING.fullmatch(line), _SECTION.fullmatch(line)
        if pending or snapshot:
            if description:
                section.options["description"] = description
            description, section = "", Section()
            if pending:
                config.pending = section
            elif snapshot:
                config.snapshots[snapshot[1]] = section
        elif line.startswith("#"):
            description += decode_text(line[1:]) + "\n"
        elif raw := _RAW.fullmatch(line):
            _add_raw(vmid, section, raw[1], raw[2], line, warn)
        elif match := re.fullmatch(r"description:\s*(.*\S)\s*", line):
            description += decode_text(match[1])
        elif match := re.search(r"snapstate:\s*(prepare|delete)\s*$", line):
            section.options["snapstate"] = match[1]
        elif match := re.fullmatch(r"delete:\s*(.*\S)\s*", line):
            if section is config.pending:
                section.options["delete"] = match[1]
            else:
                warn(f"vm {vmid} - property 'delete' is only allowed in [pve:pending]")
        elif match := _OPTION.fullmatch(line):
            key, value = match[1], match[2]
            try:
                value = _typed(key, value)
            except PveError as fault:
                warn(f"vm {vmid} - unable to parse value of '{key}' - {fault.text()}")
            section.options[key] = value
        else:
            warn(f"vm {vmid} - unable to parse config: {line}")
    if description:
        section.options["description"] = description
    config.options.pop("snapstate", None)
    return config


def _add_raw(vmid: int, section: Section, key: str, value: str, line: str, warn: Warn) -> None:
    if key == "lxc.environment.runtime":
        before = section.options.get("env")
        section.options["env"] = value if before is None else f"{before}\0{value}"
        return
    fault = raw_key_fault(key)
    if fault is None:
        section.raw.append((key, value))
    elif fault:
        warn(f"vm {vmid} - {key}: {fault}")
    else:
        warn(f"vm {vmid} - unable to parse config: {line}")


def _section_text(section: Section) -> str:
    lines = ["#" + encode_text(line) for line in _description_lines(section)]
    for key in sorted(section.options):
        if key in ("description", "env"):
            continue
        value = section.options[key]
        if "\n" in value:
            raise PveError(f"detected invalid newline inside property '{key}'")
        lines.append(f"{key}: {value}")
    env = section.options.get("env", "")
    lines += [f"lxc.environment.runtime: {item}" for item in env.split("\0") if item]
    lines += [f"{key}: {value}" for key, value in section.raw]
    return "".join(line + "\n" for line in lines)


def _description_lines(section: Section) -> list[str]:
    # Perl's split drops empty lines at the end only.
    return (
        section.options.get("description", "").rstrip("\n").split("\n")
        if section.options.get("description")
        else []
    )


def render(config: Config) -> str:
    """The text of the file: options sorted, then raw keys in their order, then the sections."""
    config.options.pop("snapstate", None)
    used = {volume["volume"] for _, volume in volumes(config)}
    for key in [k for k in config.options if k.startswith("unused")]:
        if config.options[key] in used:
            del config.options[key]
    text = _section_text(config)
    if not config.pending.empty():
        text += "\n[pve:pending]\n" + _section_text(config.pending)
    for name in sorted(config.snapshots):
        text += f"\n[{name}]\n" + _section_text(config.snapshots[name])
    return text


def parse_volume(key: str, value: str) -> dict[str, str]:
    """A rootfs or mount point as a dict; `size` in bytes."""
    schema = ROOTFS if key == "rootfs" else UNUSED if key.startswith("unused") else MOUNT_POINT
    volume = parse_property_string(schema, value)
    if "size" in volume:
        volume["size"] = str(parse_size(volume["size"]))
    if key == "rootfs":
        volume["mp"] = "/"
    return volume


def print_volume(key: str, volume: dict[str, str]) -> str:
    """The inverse of `parse_volume`."""
    values = {k: v for k, v in volume.items() if k != "mp" or key != "rootfs"}
    return print_property_string(MOUNT_POINT if key != "rootfs" else ROOTFS, values)


def volumes(section: Section, unused: bool = False) -> list[tuple[str, dict[str, str]]]:
    """The volumes of a section: rootfs first, then mount points, then unused ones if asked."""
    keys = [k for k in section.options if _VOLUME_KEY.fullmatch(k)]
    keys.sort(key=lambda k: (k != "rootfs", int(k[2:]) if k != "rootfs" else 0))
    if unused:
        keys += sorted(k for k in section.options if k.startswith("unused"))
    found = []
    for key in keys:
        try:
            found.append((key, parse_volume(key, section.options[key])))
        except PveError:
            continue
    return found


def mount_type(volume: str) -> str:
    """`volume`, `bind` or `device`, by how the source is written."""
    if volume.startswith("/dev/"):
        return "device"
    return "bind" if volume.startswith("/") else "volume"


def parse_network(value: str) -> dict[str, str]:
    """A network interface as a dict."""
    return {**parse_property_string(NETWORK, value), "type": "veth"}


def print_network(net: dict[str, str]) -> str:
    """The inverse of `parse_network`."""
    return print_property_string(NETWORK, net)


def features(section: Section, key: str = "features") -> dict[str, str]:
    """The feature flags that are set, empty without any."""
    value = section.get(key)
    return parse_property_string(FEATURES, value) if value else {}


def add_unused(section: Section, volid: str) -> None:
    """Records a volume that nothing uses any more under the first free `unusedN`."""
    if volid in (v for k, v in section.options.items() if k.startswith("unused")):
        return
    index = next(i for i in range(257) if f"unused{i}" not in section.options)
    if f"unused{index}" not in OPTIONS:
        raise PveError("Too many unused volumes - please delete them first.")
    section.options[f"unused{index}"] = volid


def volume_in_use(config: Config, volid: str) -> bool:
    """Whether the main section, a snapshot or a pending change refers to a volume."""
    sections = [config, config.pending, *config.snapshots.values()]
    return any(volume["volume"] == volid for part in sections for _, volume in volumes(part))
