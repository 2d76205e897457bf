"""`pct`: the command line for containers, over the same methods as the API."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import cli
from .auth import ROOT
from .errors import PveError
from .method import VMID, Call
from .node import Node, open_node
from .registry import REGISTRY
from .schema import Prop, validate
from .text import encode_text

_LXC = "/nodes/{node}/lxc"
Show = Callable[[Any], None]


@dataclass(frozen=True)
class Command:
    """A command over an API method. `show` prints its result; without one it is a task's UPID."""

    verb: str
    path: str
    positional: Sequence[str] = ("vmid",)
    show: Show | None = None
    task: bool = False
    fixed: Mapping[str, str] = field(default_factory=dict)


def _show_list(containers: list[dict[str, Any]]) -> None:
    if not containers:
        return
    rows = [("VMID", "Status", "Lock", "Name")] + [
        (str(item["vmid"]), item["status"], item.get("lock", ""), item["name"])
        for item in sorted(containers, key=lambda c: c["vmid"])
    ]
    for vmid, status, lock, name in rows:
        print(f"{vmid:<10} {status:<10} {lock:<12} {name:<20}")


def _show_config(config: dict[str, Any]) -> None:
    for key in sorted(config):
        if key not in ("digest", "lxc"):
            value = config[key]
            print(f"{key}: {encode_text(value) if key == 'description' else value}")
    for key, value in config.get("lxc", []):
        print(f"{key}: {value}")


def _show_pending(items: list[dict[str, Any]]) -> None:
    for item in sorted(items, key=lambda i: str(i["key"])):
        key = item["key"]
        if key == "digest":
            continue
        value, waiting = (
            encode_text(text) if key == "description" and text is not None else text
            for text in (item.get("value"), item.get("pending"))
        )
        if value is not None and item.get("delete"):
            print(f"del {key}: {value}")
        elif value is not None:
            print(f"cur {key}: {value}")
            if waiting is not None:
                print(f"new {key}: {waiting}")
        elif waiting is not None:
            print(f"new {key}: {waiting}")


def _show_snapshots(items: list[dict[str, Any]]) -> None:
    known = {item["name"]: item for item in items}

    def order(name: str) -> float:
        return float(known[name].get("snaptime", float("inf")))

    def branch(name: str, prefix: str) -> None:
        item = known[name]
        text = (item.get("description") or "no-description").split("\n")[0]
        when = item.get("snaptime")
        stamp = time.strftime("%F %T", time.localtime(when)) if when is not None else ""
        width = max(30 - len(prefix), 0)
        print(f"{prefix} {name:<{width}} {stamp:<23} {text}")
        for child in sorted((n for n in known if known[n].get("parent") == name), key=order):
            branch(child, " " + prefix)

    for root in sorted((n for n in known if known[n].get("parent") not in known), key=order):
        branch(root, "`->")


COMMANDS = {
    "list": Command("GET", _LXC, (), _show_list),
    "config": Command("GET", _LXC + "/{vmid}/config", show=_show_config),
    "pending": Command("GET", _LXC + "/{vmid}/pending", show=_show_pending),
    "set": Command("PUT", _LXC + "/{vmid}/config"),
    "resize": Command("PUT", _LXC + "/{vmid}/resize", ("vmid", "disk", "size")),
    "create": Command("POST", _LXC, ("vmid", "ostemplate"), task=True),
    "destroy": Command("DELETE", _LXC + "/{vmid}", task=True),
    "start": Command("POST", _LXC + "/{vmid}/status/start", task=True),
    "stop": Command("POST", _LXC + "/{vmid}/status/stop", task=True),
    "shutdown": Command("POST", _LXC + "/{vmid}/status/shutdown", task=True),
    "reboot": Command("POST", _LXC + "/{vmid}/status/reboot", task=True),
    "snapshot": Command("POST", _LXC + "/{vmid}/snapshot", ("vmid", "snapname"), task=True),
    "delsnapshot": Command(
        "DELETE", _LXC + "/{vmid}/snapshot/{snapname}", ("vmid", "snapname"), task=True
    ),
    "listsnapshot": Command("GET", _LXC + "/{vmid}/snapshot", show=_show_snapshots),
    "rollback": Command(
        "POST", _LXC + "/{vmid}/snapshot/{snapname}/rollback", ("vmid", "snapname"), task=True
    ),
}
_VMID_ONLY = {"vmid": VMID}
_EXEC = {"vmid": VMID, "keep-env": Prop("boolean"), "extra-args": Prop()}
LOCAL = ("status", "unlock", "exec", "enter")


def _usage(name: str) -> str:
    if name in COMMANDS:
        words = [f"<{word}>" for word in COMMANDS[name].positional]
        return " ".join(["pct", name, *words, "[OPTIONS]"])
    if name == "exec":
        return "pct exec <vmid> [<extra-args>] [OPTIONS]"
    return f"pct {name} <vmid> [OPTIONS]"


def _run_method(node: Node, name: str, argv: Sequence[str]) -> int:
    command = COMMANDS[name]
    method = REGISTRY.named(command.verb, command.path)
    fixed = {"node": node.name}
    params = cli.parse_options(method.schema, command.positional, fixed, argv)
    call = Call(node, ROOT, params, foreground=True)
    result = method.run(call)
    if command.show is not None:
        command.show(result)
    if command.task and call.outcome is not None:
        good = call.outcome == "OK" or call.outcome.startswith("WARNINGS: ")
        return 0 if good else 255
    return 0


def _run_local(node: Node, name: str, argv: Sequence[str]) -> int:
    if name in ("exec", "enter"):
        schema = _EXEC if name == "exec" else {k: _EXEC[k] for k in ("vmid", "keep-env")}
        positional = ("vmid", "extra-args") if name == "exec" else ("vmid",)
        params = cli.parse_options(schema, positional, {}, argv)
        words = params.get("extra-args", "").split("\0") if params.get("extra-args") else []
        params = validate(schema, params)
        vmid = int(params["vmid"])
        node.load(vmid)
        if not node.is_running(vmid):
            raise PveError(f"container '{vmid}' not running!")
        if name == "exec" and not words:
            raise PveError("missing command")
        return node.driver.execute(vmid, words, params.get("keep-env", "1") == "1")
    extra = {"verbose": Prop("boolean")} if name == "status" else {}
    schema = {**_VMID_ONLY, **extra}
    params = validate(schema, cli.parse_options(schema, ("vmid",), {}, argv))
    vmid = int(params["vmid"])
    if name == "unlock":
        _unlock(node, vmid)
        return 0
    node.load(vmid)
    status = Call(node, ROOT, {}).guests.status(vmid)
    if params.get("verbose") == "1":
        for key in sorted(status):
            if key != "cpu":
                print(f"{key}: {status[key]}")
    else:
        print(f"status: {status['status']}")
    return 0


def _unlock(node: Node, vmid: int) -> None:
    with node.lock(vmid):
        config = node.load(vmid)
        if config.options.pop("lock", None) is None:
            raise PveError("no lock found trying to remove any lock")
        node.save(vmid, config)


def main(argv: Sequence[str], node: Node | None = None) -> int:
    """Runs `pct`; returns its exit code."""
    names = [*COMMANDS, *LOCAL]
    summary = "USAGE: pct <COMMAND> [ARGS] [OPTIONS]\n" + "".join(
        f"\n       {_usage(name)}" for name in sorted(names)
    )
    if argv and argv[0] == "help":
        print(summary)
        return 0
    given = argv[0] if argv else None
    found = [n for n in names if given and n == given] or [
        n for n in names if given and n.startswith(given)
    ]
    if given is None or len(found) != 1:
        reason = "no command specified" if given is None else f"unknown command 'pct {given}'"
        print(f"ERROR: {reason}\n{summary}", file=sys.stderr)
        return 255
    name = found[0]
    run = _run_method if name in COMMANDS else _run_local
    return cli.run(lambda: run(node or open_node(), name, argv[1:]), _usage(name))
