"""All API methods of the node. Apart from the server, so that `pct` starts without TLS and HTTP."""

from __future__ import annotations

from . import (
    methods_cluster,
    methods_create,
    methods_lxc,
    methods_status,
    methods_storage,
)
from .method import Registry

REGISTRY = Registry(
    [
        *methods_cluster.METHODS,
        *methods_storage.METHODS,
        *methods_create.METHODS,
        *methods_lxc.METHODS,
        *methods_status.METHODS,
    ]
)
