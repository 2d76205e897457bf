"""What `pct`, `pvesh` and `pveam` share: Proxmox's option parsing, usage errors and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from .errors import BAD_REQUEST, PveError
from .schema import Prop, bad_request
from .text import parse_boolean


def parse_options(
    schema: Mapping[str, Prop],
    positional: Sequence[str],
    fixed: Mapping[str, str],
    argv: Sequence[str],
) -> dict[str, str]:
    """Getopt::Long as Proxmox configures it: one or two dashes, unique prefixes, permuted.

    `extra-args` as the last positional takes everything after the others, joined by NUL.
    """
    settable = [key for key in schema if key not in fixed and key != "extra-args"]
    params, rest = dict(fixed), list[str]()
    index = 0
    while index < len(argv):
        word = argv[index]
        index += 1
        if word == "--":
            rest += argv[index:]
            break
        if not word.startswith("-") or word in ("-",):
            rest.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        key = _resolve(settable, name)
        boolean = schema[key].type == "boolean"
        if not equals:
            following = argv[index] if index < len(argv) else None
            if boolean:
                # The value of a flag is optional, and the next word is it unless it is an option.
                takes = following is not None and not following.startswith("-")
                value, index = (following or "1", index + 1) if takes else ("1", index)
            elif following is None:
                _complain(f"Option {key} requires an argument")
            else:
                value, index = following, index + 1
        value = parse_boolean(value or "1") if boolean else value
        joined = schema[key].is_list and key in params
        params[key] = f"{params[key]}\0{value}" if joined else value
    _positional(schema, positional, rest, params)
    return params


def _resolve(settable: Sequence[str], name: str) -> str:
    lowered = name.lower()
    exact = [key for key in settable if key.lower() == lowered]
    found = exact or [key for key in settable if lowered and key.lower().startswith(lowered)]
    if len(found) > 1:
        _complain(f"Option {name} is ambiguous ({', '.join(sorted(found))})")
    if not found:
        _complain(f"Unknown option: {name}")
    return found[0]


def _complain(text: str) -> None:
    print(text, file=sys.stderr)
    raise bad_request("unable to parse option")


def _positional(
    schema: Mapping[str, Prop], names: Sequence[str], rest: list[str], params: dict[str, str]
) -> None:
    for name in names:
        if name == "extra-args":
            params[name] = "\0".join(rest)
            return
        if rest:
            params[name] = rest.pop(0)
        elif not schema[name].optional:
            raise bad_request("not enough arguments")
    if rest:
        raise bad_request("too many arguments")


def run(body: Callable[[], int], usage: str) -> int:
    """Runs a command and prints its refusal as Perl's die does."""
    try:
        return body()
    except PveError as fault:
        sys.stdout.flush()
        print(fault.text(), file=sys.stderr)
        if fault.code == BAD_REQUEST:
            print(usage, file=sys.stderr)
        return fault.exit_code
    except BrokenPipeError:
        return 255
