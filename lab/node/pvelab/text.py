"""Proxmox's small text conversions: url-encoding in configs, sizes, lists, booleans."""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

# encode_text escapes control and high characters, ":" and "%", and nothing else.
_SAFE = "".join(chr(c) for c in range(0x20, 0x7F) if chr(c) not in ":%")
_UNITS = {"K": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)(?:([KMGT])(?:iB)?)?", re.ASCII)


def encode_text(text: str) -> str:
    """Url-encodes a description line the way the config file holds it."""
    return quote_from_bytes(text.encode(), safe=_SAFE)


def decode_text(text: str) -> str:
    """The inverse of `encode_text`; wrong bytes are replaced, never an error."""
    return unquote_to_bytes(text.encode()).decode(errors="replace")


def parse_size(value: str) -> int | None:
    """Bytes of a size such as `8G`; None when it is not one."""
    match = _SIZE.fullmatch(value)
    if match is None:
        return None
    return int(float(match[1]) * 1024 ** _UNITS[match[2]]) if match[2] else int(float(match[1]))


def format_size(size: int) -> str:
    """The shortest exact form, as Proxmox writes it: 8589934592 is `8G`."""
    for unit in ("", "K", "M", "G"):
        if size % 1024 or not size:
            return f"{size}{unit}"
        size //= 1024
    return f"{size}T"


def parse_boolean(value: str) -> str:
    """`1` or `0` for the words Proxmox takes for a boolean, else the value as it is."""
    lowered = value.lower()
    if lowered in ("1", "on", "yes", "true"):
        return "1"
    return "0" if lowered in ("0", "off", "no", "false") else value


def split_list(value: str) -> list[str]:
    """The items of a list separated by commas, semicolons, blanks or NULs."""
    return [item for item in re.split(r"[,;\s\0]+", value) if item]


def unique_tags(value: str) -> str:
    """Tags lower-cased, sorted and without repeats, which is why upper case always differs."""
    return ";".join(sorted({tag.lower() for tag in split_list(value)}))
