"""The one error that reaches a user, in the two shapes Proxmox gives it."""

from __future__ import annotations

BAD_REQUEST = 400
UNAUTHORIZED = 401
FORBIDDEN = 403
NOT_FOUND = 404
NOT_IMPLEMENTED = 501


class PveError(Exception):
    """A refusal. `code` 0 is Perl's plain `die`: HTTP 500, and no number on the command line."""

    def __init__(
        self,
        message: str,
        code: int = 0,
        errors: dict[str, str] | None = None,
        exit_code: int = 255,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.errors = errors or {}
        # Perl's die exits with errno when one is set, so a missing file gives 2, the rest 255.
        self.exit_code = exit_code

    def text(self) -> str:
        """The text as the command line prints it, and as it is quoted inside other messages."""
        head = f"{self.code} {self.message}" if self.code else self.message
        details = "".join(f"\n{key}: {text}" for key, text in self.errors.items())
        return head.rstrip("\n") + details


def parameter_error(errors: dict[str, str]) -> PveError:
    """A 400 that names each wrong parameter."""
    return PveError("Parameter verification failed.", BAD_REQUEST, errors)


def permission_error(what: str = "") -> PveError:
    """A 403 with the reason in brackets."""
    return PveError("Permission check failed" + (f" ({what})" if what else ""), FORBIDDEN)
