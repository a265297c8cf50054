"""The service's side of the wire: HTTP/1.1 over a private Unix socket.

``POST /<command>`` with the arguments as JSON gives the document (200) or an error::

    {"error": {"kind": "usage", "field": "texts[1]", "reason": "…", "fix": "…", "message": "…"}}

Kinds: ``usage`` 400, ``stale`` 409 (the caller's code or settings are newer), ``starting`` and
``unavailable`` 503, ``bug`` 500. ``GET /status`` tells the state, ``POST /stop`` ends the service.
The log has the command, the status and the time, never what was asked (spec 7.3).
"""

import json
import os
import socketserver
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Protocol

from search.client import FINGERPRINT
from search.errors import HuginnError, UsageError
from search.service_place import process_at

MAX_REQUEST_BYTES = 65_536
READ_SECONDS = 30


class Service(Protocol):
    """What the wire needs of the service behind it."""

    fingerprint: str

    def answer(self, command: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The document of a look-up; raises ``UsageError`` and other ``HuginnError``."""

    def is_ready(self) -> bool:
        """Whether it answers look-ups now; if not, it will soon."""

    def status(self) -> dict[str, Any]:
        """State, process and what was said while it started."""

    def stop(self) -> None:
        """Ask for the end; look-ups in progress are finished."""


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Listens on a Unix socket for our own user; one thread a request."""

    daemon_threads = False  # a look-up in progress is finished on stop
    block_on_close = True
    request_queue_size = 64

    def __init__(self, path: Path, service: Service) -> None:
        """Binds and listens; the caller holds the lock, so a socket that is there is a dead one."""
        self.service = service
        self._busy = 0
        self._lock = threading.Lock()
        self.last_used = time.monotonic()
        path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            super().__init__(str(path), _Handler)
        finally:
            os.umask(before)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002
        """Only our own user's processes are heard, whatever the modes of the files say."""
        return process_at(request)[1] == os.geteuid()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """A caller that went away is no fault; of others the kind is told, never the message."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            log(f"{type(error).__name__} while answering")

    @contextmanager
    def working(self) -> Iterator[None]:
        """Counts a request: while one is answered the service is not idle."""
        with self._lock:
            self._busy += 1
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1
                self.last_used = time.monotonic()

    def idle_seconds(self) -> float:
        """Since the last answer; 0 while one is in the making."""
        with self._lock:
            return 0.0 if self._busy else time.monotonic() - self.last_used


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = READ_SECONDS

    def do_GET(self) -> None:
        if self.path == "/status":
            self._send(HTTPStatus.OK, self.server.service.status())
        else:
            self._fail(HTTPStatus.NOT_FOUND, "usage", "There is no such page. Ask for /status.")

    def do_POST(self) -> None:
        # Read before any answer: a socket closed with words unread takes the answer along.
        body = self._body()
        if self.path == "/stop":
            self._send(HTTPStatus.OK, {"stopping": True})
            self.server.service.stop()
            return
        with self.server.working():
            self._look_up(self.path.removeprefix("/"), body)

    def _look_up(self, command: str, body: bytes | UsageError) -> None:
        started = time.monotonic()
        service = self.server.service
        if self.headers.get(FINGERPRINT) != service.fingerprint:
            message = "The service is older than its caller's code or settings. Start it anew."
            self._fail(HTTPStatus.CONFLICT, "stale", message)
            return
        if not service.is_ready():
            self._fail(HTTPStatus.SERVICE_UNAVAILABLE, "starting", "It is starting. Ask again.")
            return
        try:
            document = service.answer(command, _arguments(body))
        except UsageError as error:
            more = {"field": error.field, "reason": error.reason, "fix": error.fix}
            self._fail(HTTPStatus.BAD_REQUEST, "usage", str(error), **more)
        except HuginnError as error:
            self._fail(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", str(error))
        except Exception as error:  # noqa: BLE001  # its message may quote what people wrote
            log(f"{type(error).__name__} at {_where(error)}")
            message = f"{type(error).__name__}, a bug. Please report what you asked."
            self._fail(HTTPStatus.INTERNAL_SERVER_ERROR, "bug", message)
        else:
            log(f"{document['command']} {document['exit']} {time.monotonic() - started:.3f} s")
            self._send(HTTPStatus.OK, document)

    def _body(self) -> bytes | UsageError:
        try:
            size = int(self.headers["Content-Length"])
        except (TypeError, ValueError):
            return UsageError("body", "it has no length", "Send Content-Length.")
        if not 0 <= size <= MAX_REQUEST_BYTES:
            return UsageError("body", f"{size} bytes", f"Send at most {MAX_REQUEST_BYTES}.")
        return self.rfile.read(size)

    def _fail(self, status: HTTPStatus, kind: str, message: str, **more: str) -> None:
        self._send(status, {"error": {"kind": kind, **more, "message": message}})

    def _send(self, status: HTTPStatus, document: Mapping[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.close_connection = True
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        with suppress(OSError):  # whoever asked may have given up
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Silent: a request line is its caller's text."""


def _arguments(body: bytes | UsageError) -> Mapping[str, Any]:
    if isinstance(body, UsageError):
        raise body
    try:
        arguments = json.loads(body)
    except ValueError:
        raise UsageError("body", "it is no JSON", "Send a JSON object.") from None
    if not isinstance(arguments, dict):
        raise UsageError("body", "it is no JSON object", "Send a JSON object.")
    return arguments


def log(line: str) -> None:
    """One line of the service's log, with the time."""
    print(time.strftime("%Y-%m-%dT%H:%M:%S%z"), line, file=sys.stderr, flush=True)  # noqa: T201


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames[-6:]))
