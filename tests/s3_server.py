"""A server on this machine that speaks S3 (moto's), and a door in front of it that answers late, with errors, or in part."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple

from .local_server import LocalServer, running

__all__ = ["AS_S3", "BUCKET", "Busy", "Cut", "Denied", "Door", "Fault", "Gone", "Late", "Other", "Request", "door", "s3_server"]

BUCKET = "shelf"
_OF_THE_HOP = ("connection", "content-length", "date", "expect", "server", "transfer-encoding")
AS_S3 = "AWS4-HMAC-SHA256 Credential=a/b/us-east-1/s3/aws4_request"
_ERROR = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'


class Request(NamedTuple):
    """A request as the door sees it; ``number`` counts all of them from 1."""

    number: int
    method: str
    path: str
    range: str


@dataclass(frozen=True)
class Busy:
    """Answers 503, as S3 does where too much is asked."""


@dataclass(frozen=True)
class Denied:
    """Answers 403."""


@dataclass(frozen=True)
class Cut:
    """Sends a part of the body, and closes the connection."""

    share: float = 0.5


@dataclass(frozen=True)
class Gone:
    """Closes the connection without an answer, as a server does that is killed."""


@dataclass(frozen=True)
class Late:
    """Waits before it answers."""

    seconds: float


@dataclass(frozen=True)
class Other:
    """Answers with other bytes of the same number."""


Fault = Busy | Cut | Denied | Gone | Late | Other | None


@dataclass
class Door:
    """A running door: its address, what went through it, and the fault that each request meets."""

    url: str
    fault: Callable[[Request], Fault] = lambda request: None
    seen: list[Request] = field(default_factory=list)
    sent: int = 0  # bytes of bodies that were answered

    def count(self, method: str, part: str = "") -> int:
        """Return how many requests of this method had ``part`` in their path."""
        return sum(one.method == method and part in one.path for one in self.seen)


@contextmanager
def s3_server(log: Path) -> Iterator[str]:
    """Run moto's server in a process of its own, with an empty bucket, ``BUCKET``; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(log, "wb") as told:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=told, stderr=told
        )
    try:
        _make_bucket(port, time.monotonic() + 60)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _make_bucket(port: int, until: float) -> None:
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("PUT", f"/{BUCKET}", headers={"Authorization": AS_S3})
            assert connection.getresponse().status == 200
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        finally:
            connection.close()


@contextmanager
def door(server: str) -> Iterator[Door]:
    """Run a door to a server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            body = self._body()
            request = Request(len(opened.seen) + 1, self.command, self.path, self.headers.get("Range", ""))
            opened.seen.append(request)
            fault = opened.fault(request)
            if isinstance(fault, Late):
                time.sleep(fault.seconds)
            if isinstance(fault, Busy):
                self._refuse(503, "SlowDown", "Please reduce your request rate.")
            elif isinstance(fault, Gone):
                self.close_connection = True
            elif isinstance(fault, Denied):
                self._refuse(403, "AccessDenied", "Access Denied")
            else:
                self._forward(body, fault)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def _forward(self, body: bytes, fault: Fault) -> None:
            connection = http.client.HTTPConnection(server.removeprefix("http://"))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_THE_HOP}
            connection.request(self.command, self.path, body, {**headers, "Content-Length": str(len(body))})
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            if isinstance(fault, Other):
                content = bytes(len(content))
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _OF_THE_HOP:
                    self.send_header(name, value)
            # the answer to HEAD tells the size of a body that it has not
            size = answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", size)
            self.end_headers()
            if isinstance(fault, Cut):
                self.wfile.write(content[: int(len(content) * fault.share)])
                self.close_connection = True
                return
            opened.sent += len(content)
            with suppress(ConnectionError):  # who has waited too long is gone
                self.wfile.write(content)

        def _refuse(self, status: int, code: str, message: str) -> None:
            content = b"" if self.command == "HEAD" else _ERROR.format(code=code, message=message).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    front = LocalServer(Handler)
    opened = Door(front.address)
    with running(front):
        yield opened
