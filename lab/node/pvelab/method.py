"""API methods: one description serves HTTP, `pct` and `pvesh`, as on the real node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .auth import User
from .errors import NOT_IMPLEMENTED, PveError
from .guests import Guests
from .node import Node
from .options import OPTIONS
from .schema import Prop, validate
from .tasks import Work

NODE = Prop(optional=False, format="pve-node")
VMID = Prop("integer", optional=False, format="pve-vmid", minimum=100, maximum=999_999_999)
SNAPNAME = Prop(optional=False, format="pve-configid", max_length=40)
FLAG = Prop("boolean")
DIGEST = Prop(max_length=40)


@dataclass
class Call:
    """One call of a method: who, with which checked parameters, and how its tasks run."""

    node: Node
    user: User
    params: dict[str, str]
    foreground: bool = False
    outcome: str | None = None
    total: int | None = None

    @property
    def vmid(self) -> int:
        """The container that the call is about."""
        return int(self.params["vmid"])

    @property
    def guests(self) -> Guests:
        """The operations on containers."""
        return Guests(self.node)

    def flag(self, name: str) -> bool:
        """A boolean parameter, false when it is not given."""
        return self.params.get(name) == "1"

    def fork(self, kind: str, ident: str, work: Work) -> str:
        """Starts a task and returns its UPID; on a command line it is done when this returns."""
        if not self.foreground:
            return self.node.tasks.spawn(kind, ident, self.user.name, work)
        upid, self.outcome = self.node.tasks.run(kind, ident, self.user.name, work)
        return upid


Handler = Callable[[Call], object]


@dataclass(frozen=True)
class Method:
    """A method of the API. `privileges` is any-of, checked on `object_path`."""

    verb: str
    path: str
    handler: Handler
    schema: Mapping[str, Prop] = field(default_factory=dict)
    privileges: tuple[str, ...] = ()
    object_path: str = "/vms/{vmid}"

    def run(self, call: Call) -> object:
        """Checks permission, then parameters, in Proxmox's order, and does it."""
        if self.privileges:
            where = re.sub(r"{(\w+)}", lambda m: call.params.get(m[1], ""), self.object_path)
            call.user.require(where, *self.privileges)
        call.params = validate(self.schema, call.params)
        asked = call.params.get("node")
        if asked is not None and asked not in (call.node.name, "localhost"):
            raise PveError(
                f"hostname lookup '{asked}' failed - failed to get address info for: {asked}: "
                "Name or service not known"
            )
        return self.handler(call)


class Registry:
    """All methods, found by verb and path."""

    def __init__(self, methods: list[Method]) -> None:
        self._methods = methods

    def find(self, verb: str, path: str) -> tuple[Method, dict[str, str]]:
        """The method and the parameters that its path holds; raises a 501."""
        words = path.split("/")
        for method in self._methods:
            if method.verb != verb:
                continue
            pattern = method.path.split("/")
            pairs = list(zip(pattern, words, strict=False))
            if len(pattern) == len(words) and all(p[:1] == "{" or p == w for p, w in pairs):
                return method, {p[1:-1]: w for p, w in pairs if p[:1] == "{"}
        raise PveError(f"Method '{verb} {path}' not implemented", NOT_IMPLEMENTED)

    def named(self, verb: str, path: str) -> Method:
        """The method with exactly this path pattern."""
        return next(m for m in self._methods if (m.verb, m.path) == (verb, path))


def json_value(key: str, value: str) -> object:
    """An option's value as JSON shows it: booleans and integers are numbers."""
    prop = OPTIONS.get(key)
    if prop is not None and prop.type in ("boolean", "integer") and value.isdecimal():
        return int(value)
    return value
