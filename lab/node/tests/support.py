"""A node of files in a temporary directory, its API over HTTP, and its command lines."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pvelab import cli_pct, cli_pveam, cli_pvesh
from pvelab.api import ApiServer
from pvelab.node import Node, open_node
from pvelab.setup import TEMPLATE
from pvelab.tokens import Tokens

IAC_PRIVILEGES = (
    "VM.Allocate VM.Audit VM.Config.CPU VM.Config.Memory VM.Config.Network VM.Config.Options "
    "VM.Config.Disk VM.PowerMgmt Datastore.AllocateSpace Datastore.Audit SDN.Use"
).replace(" ", ",")
TOKEN = "root@pam!iac=11111111-2222-3333-4444-555555555555"  # noqa: S105
IAC = "iac@pve!ci=66666666-7777-8888-9999-000000000000"
CREATE = {
    "vmid": "201",
    "ostemplate": f"local:vztmpl/{TEMPLATE}",
    "hostname": "bob",
    "storage": "local-zfs",
    "memory": "512",
    "swap": "0",
    "cores": "1",
    "features": "nesting=1",
    "net0": "name=eth0,bridge=vmbr0,ip=10.210.0.101/24,gw=10.210.0.1",
    "unprivileged": "1",
    "rootfs": "local-zfs:4",
}
RAW = """lxc.cgroup2.memory.high: 419430400
lxc.cgroup2.pids.max: 256
lxc.prlimit.nofile: 4096
lxc.mount.entry: /rpool/agents/bob srv/agent none rw,bind,create=dir 0 0
"""


def run_program(
    root: Path, name: str, *argv: str, exit_code: int = 0
) -> subprocess.CompletedProcess[str]:
    """Runs one of the node's programs as its unit does, on a node of files."""
    program = Path(__file__).resolve().parent.parent / "bin" / name
    done = subprocess.run(
        [sys.executable, str(program), *argv],
        env={**os.environ, "PVELAB_ROOT": str(root), "PVELAB_DRIVER": "memory"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode != exit_code:
        raise AssertionError(f"{name} ended with {done.returncode}: {done.stderr}")
    return done


class Answer:
    """A response of the API."""

    def __init__(self, status: int, reason: str, body: dict[str, Any]) -> None:
        self.status = status
        self.reason = reason
        self.body = body
        self.data = body.get("data")


class NodeTest(unittest.TestCase):
    """A test with a node."""

    node: Node
    root: Path

    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="pvelab-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.node = open_node(self.root, "memory")
        self.node.path("/rpool/agents/bob").mkdir(parents=True)

    def run_cli(self, main: Any, argv: str | list[str]) -> tuple[int, str, str]:
        """Runs a command line in this process: exit code, stdout, stderr."""
        words = argv.split() if isinstance(argv, str) else argv
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words, self.node)
        return code, out.getvalue(), err.getvalue()

    def pct(self, argv: str | list[str]) -> tuple[int, str, str]:
        """Runs `pct`."""
        return self.run_cli(cli_pct.main, argv)

    def pct_ok(self, argv: str | list[str]) -> str:
        """Runs `pct`, which has to succeed; its stdout."""
        code, out, err = self.pct(argv)
        self.assertEqual(code, 0, f"pct {argv}: {err}")
        return out

    def pvesh(self, argv: str | list[str]) -> tuple[int, str, str]:
        """Runs `pvesh`."""
        return self.run_cli(cli_pvesh.main, argv)

    def pveam(self, argv: str | list[str]) -> tuple[int, str, str]:
        """Runs `pveam`."""
        return self.run_cli(cli_pveam.main, argv)

    def create(self, **changes: str) -> None:
        """Creates the container of these tests."""
        params = {**CREATE, **changes}
        words = ["create", params.pop("vmid"), params.pop("ostemplate")]
        for key, value in params.items():
            words += [f"--{key}", value]
        self.pct_ok(words)

    @property
    def conf(self) -> Path:
        """The container's config file."""
        return self.node.config_path(201)

    def append(self, text: str) -> None:
        """Appends to the config file, as an operator with `tee -a` does."""
        with self.conf.open("a") as file:
            file.write(text)

    def cgroup(self, name: str) -> str:
        """A file of the container's outer cgroup."""
        return self.node.path(f"/sys/fs/cgroup/lxc/201/{name}").read_text().strip()


class ApiTest(NodeTest):
    """A test with a node and its API."""

    def setUp(self) -> None:
        super().setUp()
        tokens = self.node.path("/etc/pve/lab/token")
        tokens.parent.mkdir(parents=True)
        tokens.write_text(f"{TOKEN}\n{IAC} {IAC_PRIVILEGES}\n")
        self.server = ApiServer(("127.0.0.1", 0), self.node, Tokens(tokens))
        stopper = contextlib.redirect_stderr(io.StringIO())
        stopper.__enter__()
        self.addCleanup(stopper.__exit__, None, None, None)
        thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def api(
        self, verb: str, path: str, params: dict[str, Any] | None = None, token: str | None = TOKEN
    ) -> Answer:
        """Sends one request, form-encoded."""
        connection = HTTPConnection("127.0.0.1", self.server.server_address[1], timeout=20)
        headers = {"Authorization": f"PVEAPIToken={token}"} if token else {}
        body = None
        url = f"/api2/json{path}"
        if params and verb in ("POST", "PUT"):
            body = urlencode(params, doseq=True)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        elif params:
            url += "?" + urlencode(params)
        connection.request(verb, url, body, headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.reason, json.loads(response.read()))
        connection.close()
        return answer

    def finish(self, answer: Answer) -> str:
        """Waits for the task that a request started; its exit status."""
        self.assertEqual(answer.status, 200, answer.body)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            path = f"/nodes/pve1/tasks/{quote(str(answer.data), safe='')}/status"
            status = self.api("GET", path)
            if status.data and status.data["status"] == "stopped":
                return str(status.data["exitstatus"])
            time.sleep(0.02)
        raise AssertionError(f"task did not end: {answer.data}")
