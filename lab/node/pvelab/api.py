"""The API over TLS: /api2/json with API tokens, in Proxmox's response shapes."""

from __future__ import annotations

import json
import os
import ssl
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from .errors import NOT_FOUND, PveError
from .method import Call
from .node import Node
from .registry import REGISTRY
from .tokens import Tokens

_PREFIX = "/api2/json"
_MAX_BODY = 512 * 1024


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def parameters(query: str, body: str, content_type: str) -> dict[str, str]:
    """The parameters of a request; repeats are joined by NUL, as the real server does."""
    pairs = parse_qsl(query, keep_blank_values=True)
    if content_type.startswith("application/json") and body:
        try:
            document = json.loads(body)
        except ValueError:
            raise PveError("unable to parse JSON body", 400) from None
        if not isinstance(document, dict):
            raise PveError("JSON body is not an object", 400)
        for key, value in document.items():
            values = value if isinstance(value, list) else [value]
            pairs += [(key, _text(item)) for item in values]
    else:
        pairs += parse_qsl(body, keep_blank_values=True)
    merged: dict[str, str] = {}
    for key, text in pairs:
        merged[key] = f"{merged[key]}\0{text}" if key in merged else text
    return merged


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "pve-api-daemon/3.0"
    sys_version = ""
    # Head and body in one packet: two small writes wait for each other's acknowledgement.
    wbufsize = -1
    server: ApiServer

    def setup(self) -> None:
        """The handshake is done here, in the connection's thread: a silent client blocks nobody."""
        self.request.settimeout(120)
        if isinstance(self.request, ssl.SSLSocket):
            self.request.do_handshake()
        super().setup()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Access lines go to standard error: caller, request line and answer, never a header."""
        text = f"{self.address_string()} {self.requestline!r} {code}"
        print(text, file=sys.stderr, flush=True)

    def _handle(self) -> None:
        call = None
        try:
            length = int(self.headers.get("Content-Length") or 0)
            if length > _MAX_BODY:
                self.close_connection = True
                raise PveError("request body too large", 413)
            body = self.rfile.read(length).decode()
            parts = urlsplit(self.path)
            if not parts.path.startswith(_PREFIX + "/"):
                raise PveError(f"no such file '{parts.path}'", NOT_FOUND)
            user = self.server.tokens.user(self.headers.get("Authorization") or "")
            # "/lxc//config" is "/lxc/config" for the real server too.
            path = "/" + "/".join(p for p in parts.path[len(_PREFIX) :].split("/") if p)
            method, in_path = REGISTRY.find(self.command, path)
            given = parameters(parts.query, body, self.headers.get("Content-Type") or "")
            decoded = {key: unquote(value) for key, value in in_path.items()}
            call = Call(self.server.node, user, {**given, **decoded})
            data = method.run(call)
        except PveError as fault:
            answer: dict[str, object] = {"data": None, "message": fault.message + "\n"}
            if fault.errors:
                answer["errors"] = fault.errors
            self._send(fault.code or 500, fault.message, answer)
        except Exception as fault:
            traceback.print_exc()
            self._send(500, repr(fault), {"data": None, "message": repr(fault)})
        else:
            total = {} if call.total is None else {"total": call.total}
            self._send(200, "OK", {"data": data, **total})

    def _send(self, code: int, reason: str, answer: dict[str, object]) -> None:
        payload = json.dumps(answer).encode()
        first = reason.split("\n")[0].encode("latin-1", "replace").decode("latin-1")
        self.send_response(code, first)
        self.send_header("Content-Type", "application/json;charset=UTF-8")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815


class ApiServer(ThreadingHTTPServer):
    """The daemon. Its tasks are threads, which an orderly end waits for."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], node: Node, tokens: Tokens) -> None:
        super().__init__(address, Handler)
        self.node = node
        self.tokens = tokens

    def use_tls(self, certificate: Path, key: Path) -> None:
        """Serves TLS 1.2 and later with a certificate; handshakes happen in the threads."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no event; anything else is told."""
        fault = sys.exc_info()[1]
        if not isinstance(fault, OSError):
            traceback.print_exc()


def write_port(path: Path, port: int) -> None:
    """Tells the port in one step, so that a reader never sees half of it."""
    temporary = path.with_name(f"{path.name}.tmp.{os.getpid()}")
    temporary.write_text(f"{port}\n")
    temporary.rename(path)
