"""Waits until an embedded server is ready to be used, and tells why when it is not (spec 1.4)."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from search.embedded_home import Home, Server
from search.embedded_keys import Keys
from search.embedded_process import listens_on, process_of
from search.errors import PermanentError, ServerUnavailable
from search.settings import WEAVIATE_VERSION

if TYPE_CHECKING:
    import httpx

_POLL_SECONDS = 0.1
_DATA_PORT_SECONDS = 3  # it opens before the others; a server without it still calls itself ready
_TAIL_LINES = 12
_TAIL_BYTES = 32_768


class Ended(Exception):
    """The server's process ended before it was ready; the message holds its last log lines."""


class PortLost(Ended):
    """Somebody else took one of its ports first."""


def wait_until_ready(home: Home, server: Server, keys: Keys, deadline: float) -> None:
    """Returns once the server is ready: all that follows holds for this very process.

    It listens on its HTTP, gRPC and data ports itself (another process on such a port is not
    believed, nor shown a key), says that it is ready, and answers our key with the pinned version.
    ``deadline`` is on the monotonic clock.

    Raises:
        Ended: it is gone. PortLost: the same, or nearly, for want of a port.
        ServerUnavailable: the time is over; it is left to go on starting.
        PermanentError: it takes no key of ours, or is another version.
    """
    needed = {server.ports.http, server.ports.grpc, server.ports.data}
    data_port_by = None
    with _client(server) as client:
        while True:
            process = process_of(server)
            if process is None:
                tail = log_tail(home)
                raise (PortLost if "address already in use" in tail else Ended)(tail)
            missing = needed - listens_on(process)
            if not missing and _answers(client, server, keys):
                return
            if missing == {server.ports.data}:
                data_port_by = data_port_by or time.monotonic() + _DATA_PORT_SECONDS
                if time.monotonic() > data_port_by:
                    raise PortLost(f"port {server.ports.data} was taken")
            if time.monotonic() > deadline:
                raise ServerUnavailable(_too_slow(home, server))
            time.sleep(_POLL_SECONDS)


def log_tail(home: Home) -> str:
    """The last lines of the server's log, made readable: warnings and errors, never a key."""
    try:
        with home.log.open("rb") as log:
            log.seek(max(0, home.log.stat().st_size - _TAIL_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
    except OSError:
        lines = []
    return "\n".join(f"  {_readable(line)}" for line in lines[-_TAIL_LINES:]) or "  (no log)"


def _readable(line: str) -> str:
    try:
        entry = json.loads(line)
        rest = f" ({entry['error']})" if "error" in entry else ""
        return f"{entry['level']}: {entry['msg']}{rest}"
    except (ValueError, TypeError, KeyError):
        return line


@contextmanager
def _client(server: Server) -> Iterator["httpx.Client"]:
    import httpx

    base = f"http://{server.address}:{server.http_port}"
    with httpx.Client(base_url=base, timeout=5, trust_env=False) as client:
        yield client


def _answers(client: "httpx.Client", server: Server, keys: Keys) -> bool:
    """Whether it is ready and shows itself as ours; False while it may still become so."""
    import httpx

    try:
        if client.get("/v1/.well-known/ready").status_code != httpx.codes.OK:
            return False
        answer = client.get("/v1/meta", headers={"Authorization": f"Bearer {keys.reader}"})
    except httpx.HTTPError:
        return False
    restart = "`huginn down`, then `huginn up`."
    if answer.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
        raise PermanentError(f"Weaviate (pid {server.pid}) does not take Huginn's key: {restart}")
    if answer.status_code != httpx.codes.OK:
        return False
    version = answer.json().get("version")
    if version != WEAVIATE_VERSION:
        raise PermanentError(
            f"Weaviate (pid {server.pid}, {server.binary}) is version {version}, "
            f"not {WEAVIATE_VERSION}: {restart}"
        )
    return True


def _too_slow(home: Home, server: Server) -> str:
    return (
        f"Weaviate (pid {server.pid}) is not ready in time. Its last log lines:\n{log_tail(home)}\n"
        f"It goes on starting: run the command again to wait on, raise weaviate.start_timeout, "
        f"or start afresh with `huginn down` and `huginn up`. The whole log: {home.log}"
    )
