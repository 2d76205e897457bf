"""API tokens, read from a file on each call."""

from __future__ import annotations

import hmac
from pathlib import Path

from .auth import User
from .errors import UNAUTHORIZED, PveError
from .text import split_list


class Tokens:
    """The token file: `USER!ID=SECRET [PRIVILEGE,...]` a line; root's need no list."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def user(self, header: str) -> User:
        """The caller behind an Authorization header; raises a 401."""
        scheme, _, credential = header.partition("=")
        if scheme != "PVEAPIToken" or not credential:
            raise PveError("No ticket", UNAUTHORIZED)
        name, _, secret = credential.partition("=")
        known = self._read().get(name)
        if known is None:
            user, _, token = name.partition("!")
            raise PveError(f"no such token '{token}' for user '{user}'", UNAUTHORIZED)
        if not hmac.compare_digest(known[0], secret):
            raise PveError("invalid token value!", UNAUTHORIZED)
        return known[1]

    def _read(self) -> dict[str, tuple[str, User]]:
        # Read on each call: a token that is revoked must stop working at once.
        users: dict[str, tuple[str, User]] = {}
        for line in self._path.read_text().splitlines() if self._path.exists() else []:
            credential, _, privileges = line.strip().partition(" ")
            name, _, secret = credential.partition("=")
            if not secret:
                continue
            full = name.startswith("root@pam!") and not privileges
            granted = None if full else frozenset(split_list(privileges))
            users[name] = (secret, User(name, granted))
        return users
