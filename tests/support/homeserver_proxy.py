"""A proxy before a homeserver: it answers in its stead, or does something first, then passes on."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


@dataclass
class HomeserverProxy:
    """``answers``: what is said with status 200 to paths that end so, instead of asking.

    ``before`` hears each path with its query before it is passed on.
    """

    target: int
    port: int = 0
    answers: dict[str, Any] = field(default_factory=dict)
    before: Callable[[str], None] = lambda _: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def asked(self, path: str, headers: dict[str, str]) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, headers and body of the answer to a GET."""
        self.before(path)
        for end, content in self.answers.items():
            if path.partition("?")[0].endswith(end):
                body = json.dumps(content).encode()
                return 200, [("Content-Type", "application/json")], body
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=240)
        try:
            connection.request("GET", path, headers=headers)
            given = connection.getresponse()
            return given.status, given.getheaders(), given.read()
        finally:
            connection.close()


def _handler(proxy: HomeserverProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # http.server's name
            wanted = {
                name: value for name, value in self.headers.items() if name.lower() not in _HOP
            }
            status, headers, body = proxy.asked(self.path, wanted)
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in _HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  # its name
            """Says nothing."""

    return Handler


@contextmanager
def between(target: int) -> Iterator[HomeserverProxy]:
    """A proxy in front of the homeserver at that port of 127.0.0.1, for the block."""
    proxy = HomeserverProxy(target)
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy)) as server:
        server.daemon_threads = True
        proxy.port = int(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
