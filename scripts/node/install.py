#!/usr/bin/python3 -IS
"""Installs what a node needs once: runtimes under their hash, the agents' dataset, the template.

It arrives inside its own document: a bootstrap of one line exec()s it with the document as the
global DOCUMENT, because nothing of Berth is on the node yet. Until the runtime is in place it
can import nothing of it. As a program it reads the document on standard input.

Prints {"guestHash", "node", "nodeHash"}. Exit codes: see berth_node/failure.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from typing import Any, NoReturn

STATE = os.environ.get("BERTH_ROOT", "").rstrip("/") + "/var/lib/berth"
TREES = {"node": "nodeHash", "guest": "guestHash"}
FILE = re.compile(r"(node|guest)/([A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*")
TIME_LIMIT = 1800
KEPT = 3


def end(message: str) -> NoReturn:
    """End for a document that does not even hold a runtime."""
    print(f"berth: {message}", file=sys.stderr)
    raise SystemExit(64)


def check_files(document: Any) -> None:
    """End unless `document` holds runtimes; everything else is checked with the runtime."""
    if not isinstance(document, dict):
        end("document: expected an object")
    for key in TREES.values():
        if not re.fullmatch(r"[0-9a-f]{12}", str(document.get(key))):
            end(f"document: {key}: expected a hash of 12 hexadecimal digits")
    files = document.get("files")
    if not isinstance(files, dict) or "node/install.py" not in files:
        end("document: files: expected an object with node/install.py in it")
    for path, file in files.items():
        if not FILE.fullmatch(path):
            end(f"document: files: {path!r} is no path below node/ or guest/")
        if not isinstance(file, dict) or set(file) != {"mode", "content"}:
            end(f"document: files.{path}: expected mode and content")
        if file["mode"] not in ("0644", "0755") or not isinstance(file["content"], str):
            end(f"document: files.{path}: expected mode 0644 or 0755 and a text")


def place(directory: str, files: dict[str, Any]) -> None:
    """Bring `directory` to exactly `files`; a new one appears complete or not at all."""
    if os.path.isdir(directory):
        repair(directory, files)
        return
    temporary = f"{directory}.tmp.{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)
    make_directory(temporary)
    for path, file in files.items():
        write(f"{temporary}/{path}", file)
    os.rename(temporary, directory)


def repair(directory: str, files: dict[str, Any]) -> None:
    """Put right what differs; a running gate never sees the directory without its files."""
    for path, file in files.items():
        target = f"{directory}/{path}"
        try:
            with open(target, encoding="utf-8") as current:
                same = current.read() == file["content"]
            same = same and os.stat(target).st_mode & 0o777 == int(file["mode"], 8)
        except (OSError, UnicodeDecodeError):
            same = False
        if not same:
            write(target, file)
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.relpath(f"{parent}/{name}", directory)
            if path not in files and os.path.basename(parent) != "__pycache__":
                os.unlink(f"{parent}/{name}")


def write(target: str, file: dict[str, str]) -> None:
    """Write one file, readable by all: guests see it through the mapped ids of nobody."""
    make_directory(os.path.dirname(target))
    temporary = f"{target}.tmp.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as stream:
        stream.write(file["content"])
        stream.flush()
        os.fsync(stream.fileno())
    os.chmod(temporary, int(file["mode"], 8))
    os.replace(temporary, target)


def make_directory(path: str) -> None:
    """Make `path` and its parents with mode 0755, whatever the umask is."""
    if not os.path.isdir(path):
        make_directory(os.path.dirname(path))
        os.mkdir(path)
        os.chmod(path, 0o755)  # noqa: S103 - guests read it as other users


def install_runtimes(document: dict[str, Any]) -> str:
    """Place both trees; returns the directory of the node's."""
    for tree, key in TREES.items():
        prefix = f"{tree}/"
        files = {
            path.removeprefix(prefix): file
            for path, file in document["files"].items()
            if path.startswith(prefix)
        }
        make_directory(f"{STATE}/{tree}")
        directory = f"{STATE}/{tree}/{document[key]}"
        place(directory, files)
        os.utime(directory)
        compile_modules(directory)
    return f"{STATE}/node/{document['nodeHash']}"


def compile_modules(directory: str) -> None:
    """Compile the modules: guests mount them read-only and would compile on every start."""
    import compileall

    compileall.compile_dir(directory, quiet=2)


def prune(used: set[str], keep: set[str]) -> None:
    """Remove runtimes that no agent's document refers to, except the newest few."""
    for tree in TREES:
        parent = f"{STATE}/{tree}"
        runtimes = [name for name in os.listdir(parent) if re.fullmatch(r"[0-9a-f]{12}", name)]
        runtimes.sort(key=lambda name: os.stat(f"{parent}/{name}").st_mtime, reverse=True)
        for name in runtimes[KEPT:]:
            if name not in used | keep:
                shutil.rmtree(f"{parent}/{name}")


def main(given: Any = None) -> int:
    """Install what `given`, or the document on standard input, says."""
    document = json.load(sys.stdin) if given is None else given
    check_files(document)
    if os.geteuid() != 0 and not os.environ.get("BERTH_ROOT"):
        end("this needs root on the node")
    os.umask(0o022)
    sys.path.insert(0, install_runtimes(document))

    from berth_node import document as agents
    from berth_node import failure, once

    def work() -> dict[str, str]:
        failure.limit_time(TIME_LIMIT)
        once.prepare_node(document)
        prune(agents.runtimes_in_use(), {document[key] for key in TREES.values()})
        return {key: document[key] for key in ("node", *TREES.values())}

    return failure.conclude(work)


if __name__ == "__main__":
    sys.exit(main(globals().get("DOCUMENT")))
