"""Strict reading of JSON documents: a fault names its key, before anything is changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from berth_node.failure import WRONG_USE, die

Rule = Callable[[str, Any], None]

MIB = 1 << 20


def wrong(path: str, expected: str, value: object) -> None:
    """End with what is expected at `path`."""
    die(f"document: {path}: expected {expected}, got {str(value)[:80]!r}", code=WRONG_USE)


def text(pattern: str, expected: str) -> Rule:
    """A string that matches `pattern` as a whole."""
    compiled = re.compile(pattern)

    def rule(path: str, value: Any) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            wrong(path, expected, value)

    return rule


def whole(minimum: int, maximum: int, multiple: int = 1) -> Rule:
    """A whole number within bounds, in steps of `multiple`."""

    def rule(path: str, value: Any) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            wrong(path, "a whole number", value)
        if not minimum <= value <= maximum or value % multiple:
            steps = f", a multiple of {multiple}" if multiple > 1 else ""
            wrong(path, f"{minimum} to {maximum}{steps}", value)

    return rule


def flag(path: str, value: Any) -> None:
    """True or false."""
    if not isinstance(value, bool):
        wrong(path, "true or false", value)


def anything(path: str, value: Any) -> None:
    """An object that is somebody else's business."""
    if not isinstance(value, dict):
        wrong(path, "an object", value)


def record(**rules: Rule) -> Rule:
    """An object with exactly these keys."""

    def rule(path: str, value: Any) -> None:
        anything(path or "(the document)", value)
        prefix = f"{path}." if path else ""
        for key in value:
            if key not in rules:
                die(f"document: {prefix}{key}: unknown key", code=WRONG_USE)
        for key, check in rules.items():
            if key not in value:
                die(f"document: {prefix}{key}: missing", code=WRONG_USE)
            check(f"{prefix}{key}", value[key])

    return rule


def mapping(key_rule: Rule, value_rule: Rule) -> Rule:
    """An object with free keys, each under `key_rule`."""

    def rule(path: str, value: Any) -> None:
        anything(path, value)
        for key, entry in value.items():
            key_rule(f"{path}: key", key)
            value_rule(f"{path}.{key}", entry)

    return rule


def sequence(item: Rule) -> Rule:
    """A list."""

    def rule(path: str, value: Any) -> None:
        if not isinstance(value, list):
            wrong(path, "a list", value)
        for index, entry in enumerate(value):
            item(f"{path}[{index}]", entry)

    return rule


NAME = text(r"[a-z][a-z0-9-]{0,30}", "a name: a-z, 0-9, -, at most 31 characters")
# Stack names become a Proxmox tag, which is lower case.
STACK = text(r"[a-z0-9][a-z0-9_.-]{0,99}", "a stack name in lower case")
NODE = text(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", "a node name")
DATASET = text(
    r"[A-Za-z][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+", "a dataset such as rpool/berth"
)
HASH = text(r"[0-9a-f]{12}", "a hash of 12 hexadecimal digits")
VMID = whole(100, 999_999_999)
