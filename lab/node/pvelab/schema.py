"""Parameter checking with the texts of PVE::JSONSchema: strict, and all faults at once."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from .errors import BAD_REQUEST, PveError, parameter_error
from .text import format_size, parse_boolean, parse_size, split_list

NOT_IN_SCHEMA = (
    "property is not defined in schema and the schema does not allow additional properties"
)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)


@dataclass(frozen=True)
class Prop:
    """One property of a schema. `format` is a named format or the properties of a string."""

    type: str = "string"
    optional: bool = True
    format: str | dict[str, Prop] | None = None
    enum: tuple[str, ...] = ()
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    default_key: bool = False
    requires: str | None = None

    def required(self) -> Prop:
        """The same property, but it must be given."""
        return replace(self, optional=False)

    @property
    def is_list(self) -> bool:
        """Whether repeated parameters are joined instead of the last one winning."""
        return isinstance(self.format, str) and self.format.endswith("-list")


def _matching(pattern: str, complaint: str) -> Callable[[str], str | None]:
    compiled = re.compile(pattern, re.ASCII | re.IGNORECASE)
    return lambda value: None if compiled.fullmatch(value) else complaint.format(value=value)


def _ip(
    version: int, words: tuple[str, ...] = (), prefix: bool = False
) -> Callable[[str], str | None]:
    def check(value: str) -> str | None:
        if value in words:
            return None
        kind = f"IPv{version}"
        complaint = (
            f"value does not look like a valid {kind.lower()} network configuration"
            if prefix
            else f"value does not look like a valid {kind} address"
        )
        try:
            if prefix and "/" not in value:
                return complaint
            parsed = ipaddress.ip_interface(value) if prefix else ipaddress.ip_address(value)
        except ValueError:
            return complaint
        return None if parsed.version == version else complaint

    return check


def _any_ip(value: str) -> str | None:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return "value does not look like a valid IP address"
    return None


def _mac(value: str) -> str | None:
    if not re.fullmatch(r"[a-f0-9][02468ace](?::[a-f0-9]{2}){5}", value, re.I):
        return "value does not look like a valid unicast MAC address"
    return None


def _no_dots(value: str) -> str | None:
    if re.search(r"/\.\.?/|/\.\.?$|^\.\./", value):
        return f"{value} contains illegal character sequences"
    return None


def _device(value: str) -> str | None:
    if re.search(r"/\.\.?(?:/|$)", value) or not value.startswith("/dev/"):
        return f"{value} is not a valid device path"
    return None


def _volume(value: str) -> str | None:
    if value.startswith("/") or re.fullmatch(r"[a-z][a-z0-9\-_.]*[a-z0-9]:.+", value, re.I):
        return None
    return f"unable to parse volume ID '{value}'"


_LABEL = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?)"
FORMATS: dict[str, Callable[[str], str | None]] = {
    "pve-vmid": _matching(r"[1-9][0-9]{2,8}", "value does not look like a valid VM ID"),
    "pve-node": _matching(_LABEL, "value does not look like a valid node name"),
    "pve-configid": _matching(r"[a-z][a-z0-9_-]+", "invalid configuration ID '{value}'"),
    "pve-storage-id": _matching(
        r"[a-z][a-z0-9\-_.]*[a-z0-9]", "storage ID '{value}' contains illegal characters"
    ),
    "pve-poolid": _matching(
        r"[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+){0,2}",
        "pool name '{value}' contains invalid characters",
    ),
    "pve-tag": _matching(r"[a-z0-9_][a-z0-9_\-+.]*", "invalid characters in tag"),
    "pve-volume-id": _volume,
    "dns-name": _matching(rf"(?:{_LABEL}\.)*{_LABEL}", "value does not look like a valid DNS name"),
    "ipv4": _ip(4),
    "ipv6": _ip(6),
    "ip": _any_ip,
    "pve-ipv4-config": _ip(4, ("dhcp", "manual"), prefix=True),
    "pve-ipv6-config": _ip(6, ("auto", "dhcp", "manual"), prefix=True),
    "mac-addr": _mac,
    "pve-lxc-mp-string": _no_dots,
    "pve-lxc-dev-string": _device,
    "pve-ct-timezone": _matching(
        r"host|[A-Za-z0-9_+\-]+(?:/[A-Za-z0-9_+\-]+)*", "invalid time zone '{value}'"
    ),
    "disk-size": lambda value: (
        None
        if parse_size(value) is not None
        else f"value does not look like a valid disk size: {value}"
    ),
}


def _format_fault(prop: Prop, value: str) -> str | None:
    if isinstance(prop.format, dict):
        try:
            parse_property_string(prop.format, value)
        except PveError as fault:
            return fault.text()
        return None
    if prop.format is None:
        return None
    if prop.is_list:
        check = FORMATS[prop.format.removesuffix("-list")]
        return next((text for item in split_list(value) if (text := check(item))), None)
    return FORMATS[prop.format](value)


def _type_fault(prop: Prop, value: str) -> str | None:
    right = {
        "boolean": value in ("0", "1"),
        "integer": _INTEGER.fullmatch(value) is not None,
        "number": _NUMBER.fullmatch(value) is not None,
    }.get(prop.type, True)
    return None if right else f"type check ('{prop.type}') failed - got '{value}'"


def fault_of(prop: Prop, value: str) -> str | None:
    """What is wrong with one value, in Proxmox's words; None when it is right."""
    if fault := _type_fault(prop, value):
        return fault
    if fault := _format_fault(prop, value):
        return f"invalid format - {fault}\n"
    if prop.pattern is not None and not re.fullmatch(prop.pattern, value):
        return "value does not match the regex pattern"
    if prop.max_length is not None and len(value) > prop.max_length:
        return f"value may only be {prop.max_length} characters long"
    if prop.min_length is not None and len(value) < prop.min_length:
        return f"value must be at least {prop.min_length} characters long"
    if _NUMBER.fullmatch(value):
        if prop.maximum is not None and float(value) > prop.maximum:
            return f"value must have a maximum value of {prop.maximum:g}"
        if prop.minimum is not None and float(value) < prop.minimum:
            return f"value must have a minimum value of {prop.minimum:g}"
    if prop.enum and value not in prop.enum:
        return f"value '{value}' does not have a value in the enumeration '{', '.join(prop.enum)}'"
    return None


def object_faults(schema: Mapping[str, Prop], values: Mapping[str, str]) -> dict[str, str]:
    """Every fault of an object: missing, wrong and unknown properties."""
    faults: dict[str, str] = {}
    for key, prop in schema.items():
        if key not in values:
            if not prop.optional:
                faults[key] = "property is missing and it is not optional"
        elif fault := fault_of(prop, values[key]):
            faults[key] = fault
    for key in values:
        if key not in schema:
            faults[key] = NOT_IN_SCHEMA
        elif (needed := schema[key].requires) is not None and needed not in values:
            faults[needed] = f"missing property required by '{key}'"
    return faults


def validate(schema: Mapping[str, Prop], values: Mapping[str, str]) -> dict[str, str]:
    """The parameters, booleans as 0 and 1; raises a 400 with every fault."""
    normal = {
        key: parse_boolean(value) if key in schema and schema[key].type == "boolean" else value
        for key, value in values.items()
    }
    if faults := object_faults(schema, normal):
        raise parameter_error(faults)
    return normal


def parse_property_string(schema: Mapping[str, Prop], data: str) -> dict[str, str]:
    """Reads `key=value,...`; the property that has the default key may stand without it."""
    default = next((key for key, prop in schema.items() if prop.default_key), None)
    result: dict[str, str] = {}
    for part in data.split(","):
        if not part.strip():
            continue
        key, equals, value = part.partition("=")
        if not equals:
            if default is None:
                raise PveError("value without key, but schema does not define a default key")
            key, value = default, part
        elif not key or not value:
            raise PveError("missing key in comma-separated list property")
        if key in result:
            raise PveError(f"duplicate key in comma-separated list property: {key}")
        if key not in schema:
            raise PveError(f"invalid key in comma-separated list property: {key}")
        result[key] = parse_boolean(value) if schema[key].type == "boolean" else value
    if faults := object_faults(schema, result):
        raise PveError("format error", errors=faults)
    return result


def print_property_string(schema: Mapping[str, Prop], values: Mapping[str, str]) -> str:
    """The inverse: the default key first and bare, then what is required, then the rest sorted."""

    def text(key: str) -> str:
        value = values[key]
        return format_size(int(value)) if schema[key].format == "disk-size" else value

    default = [key for key in values if schema[key].default_key]
    required = sorted(k for k in values if not schema[k].optional and k not in default)
    rest = sorted(k for k in values if schema[k].optional and k not in default)
    return ",".join([*map(text, default), *(f"{key}={text(key)}" for key in required + rest)])


def bad_request(message: str) -> PveError:
    """A plain 400, such as the command line gives for wrong arguments."""
    return PveError(message, BAD_REQUEST)
