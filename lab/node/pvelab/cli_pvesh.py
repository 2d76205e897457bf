"""`pvesh`: the API on the command line, as root."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from . import cli
from .auth import ROOT
from .method import Call
from .node import Node, open_node
from .registry import REGISTRY
from .schema import Prop, bad_request

_VERBS = {"get": "GET", "set": "PUT", "create": "POST", "delete": "DELETE"}
_FORMATS = ("text", "json", "json-pretty", "yaml")
_FORMATTING = {
    "output-format": Prop(enum=_FORMATS),
    "human-readable": Prop("boolean"),
    "noborder": Prop("boolean"),
    "noheader": Prop("boolean"),
    "quiet": Prop("boolean"),
    "noproxy": Prop("boolean"),
}
_USAGE = "pvesh <COMMAND> <api_path> [OPTIONS] [FORMAT_OPTIONS]"


def _print(data: Any, shape: str) -> None:
    if shape == "json":
        print(json.dumps(data, separators=(",", ":"), sort_keys=True))
    elif shape == "json-pretty":
        print(json.dumps(data, indent=3, sort_keys=True))
    elif isinstance(data, dict):
        for key in sorted(data):
            print(f"{key}: {data[key]}")
    elif isinstance(data, list):
        for item in data:
            print(json.dumps(item, sort_keys=True))
    elif data is not None:
        print(data)


def _run(node: Node, argv: Sequence[str]) -> int:
    if len(argv) < 2:
        raise bad_request("not enough arguments")
    verb, path = argv[0], argv[1]
    method, in_path = REGISTRY.find(_VERBS[verb], "/" + path.strip("/"))
    schema = {**method.schema, **_FORMATTING}
    params = cli.parse_options(schema, (), in_path, argv[2:])
    formatting = {key: params.pop(key) for key in _FORMATTING if key in params}
    shape = formatting.get("output-format", "text")
    if shape not in _FORMATS or shape == "yaml":
        raise bad_request(f"output format '{shape}' is not built in this node")
    call = Call(node, ROOT, params, foreground=True)
    data = method.run(call)
    if formatting.get("quiet") != "1":
        _print(data, shape)
    good = call.outcome is None or call.outcome == "OK" or call.outcome.startswith("WARNINGS: ")
    return 0 if good else 255


def main(argv: Sequence[str], node: Node | None = None) -> int:
    """Runs `pvesh`; returns its exit code."""
    if not argv or argv[0] not in _VERBS:
        reason = f"unknown command 'pvesh {argv[0]}'" if argv else "no command specified"
        print(f"ERROR: {reason}\nUSAGE: {_USAGE}", file=sys.stderr)
        return 255
    return cli.run(lambda: _run(node or open_node(), argv), _USAGE)
