"""The tests' own server: a closed connection leaves no trace in another test's output, any other
error does.
"""

from __future__ import annotations

import http.client
from http.server import BaseHTTPRequestHandler

import pytest

from .local_server import LocalServer, running


@pytest.mark.parametrize(
    ("error", "told"), [(ConnectionResetError, False), (BrokenPipeError, False), (ValueError, True)]
)
def test_only_closed_connections_are_not_told(
    error: type[Exception], told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            raise error("from the handler")

    with running(LocalServer(Handler)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
        connection.request("GET", "/")
        with pytest.raises(ConnectionError):
            connection.getresponse()  # the connection is closed after the error was handled
        connection.close()
    assert ("from the handler" in capsys.readouterr().err) == told
