"""`pveam`: container templates. This node has no network: what it can offer, it already holds."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

from . import cli
from .errors import PveError, parameter_error
from .node import Node, open_node
from .schema import Prop, validate
from .setup import TEMPLATE

_STORAGE = Prop(optional=False, format="pve-storage-id")
_SECTION = Prop(enum=("system", "mail", "turnkeylinux"))
_NAME = re.compile(r"([^_]+)_.+\.tar\.(?:gz|xz|zst)")


def _template_storage(node: Node, sid: str) -> None:
    if "vztmpl" not in node.storage.config(sid).content:
        raise PveError(f"Storage '{sid}' does not support templates")


def _list(node: Node, params: dict[str, str]) -> None:
    _template_storage(node, params["storage"])
    print(f"{'NAME':<60} {'SIZE':<6}")
    for item in node.storage.listing(params["storage"], "vztmpl"):
        print(f"{item['volid']!s:<60} {int(str(item['size'])) / (1024 * 1024):.2f}MB")


def _available(node: Node, params: dict[str, str]) -> None:
    if params.get("section", "system") == "system":
        print(f"{'system':<15} {TEMPLATE:<50}")


def _download(node: Node, params: dict[str, str]) -> None:
    name = params["template"]
    if name != TEMPLATE:
        raise parameter_error({"template": "no such template"})
    config = node.storage.config(params["storage"])
    _template_storage(node, params["storage"])
    if not (node.storage.directory(config, "vztmpl") / name).is_file():
        raise PveError(f"download of '{name}' failed: this node has no network")
    print(f"template archive already exists {name}")


def _remove(node: Node, params: dict[str, str]) -> None:
    node.storage.template(params["template_path"]).unlink()


def _update(node: Node, params: dict[str, str]) -> None:
    print("update successful")


Handler = Callable[[Node, dict[str, str]], None]
COMMANDS: dict[str, tuple[Handler, tuple[str, ...], dict[str, Prop]]] = {
    "list": (_list, ("storage",), {"storage": _STORAGE}),
    "available": (_available, (), {"section": _SECTION}),
    "download": (
        _download,
        ("storage", "template"),
        {"storage": _STORAGE, "template": Prop(optional=False, max_length=255)},
    ),
    "remove": (_remove, ("template_path",), {"template_path": Prop(optional=False)}),
    "update": (_update, (), {}),
}


def main(argv: Sequence[str], node: Node | None = None) -> int:
    """Runs `pveam`; returns its exit code."""
    if not argv or argv[0] not in COMMANDS:
        reason = f"unknown command 'pveam {argv[0]}'" if argv else "no command specified"
        print(f"ERROR: {reason}\nUSAGE: pveam <COMMAND> [ARGS] [OPTIONS]", file=sys.stderr)
        return 255
    handler, positional, schema = COMMANDS[argv[0]]

    def body() -> int:
        params = validate(schema, cli.parse_options(schema, positional, {}, argv[1:]))
        handler(node or open_node(), params)
        return 0

    words = " ".join(f"<{word}>" for word in positional)
    return cli.run(body, f"pveam {argv[0]} {words} [OPTIONS]".replace("  ", " "))
