"""Who calls, and what they may do: privileges as Proxmox names them."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import permission_error


@dataclass(frozen=True)
class User:
    """A caller. `privileges` None is the Administrator role on `/`."""

    name: str
    privileges: frozenset[str] | None = frozenset()

    @property
    def is_root(self) -> bool:
        """True for root's own login only: what Proxmox keeps to root@pam, no token may do."""
        return self.name == "root@pam"

    def may(self, privilege: str) -> bool:
        """Whether the caller has a privilege (this node keeps no paths: all are granted on /)."""
        return self.privileges is None or privilege in self.privileges

    def require(self, path: str, *any_of: str) -> None:
        """Raises a 403 unless the caller has one of the privileges."""
        if not any(map(self.may, any_of)):
            raise permission_error(f"{path}, {'|'.join(any_of)}")


ROOT = User("root@pam", None)
