"""The embedded server in the foreground, for service managers (``huginn up --foreground``)."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from search.embedded_home import home_of
from search.embedded_process import process_of
from search.embedded_ready import log_tail
from search.embedded_start import start
from search.embedded_stop import stop_server
from search.errors import PermanentError, ServerUnavailable
from search.settings import Settings


def supervise(settings: Settings, progress: Callable[[str], None]) -> None:
    """Starts the server and stays with it; returns after SIGTERM or SIGINT stopped it in order.

    Others find it by the same state file. Only for the main thread: it takes over both signals.
    A service manager that asked for it (``Type=notify``) is told once the server is ready.

    Raises:
        PermanentError: one is running already.
        ServerUnavailable: it ended by itself, then or while it started.
    """
    home = home_of(settings)
    with _signals_raise():
        try:
            server, is_new = start(settings, progress)
            if not is_new:
                raise PermanentError(
                    f"Weaviate is running already (pid {server.pid}): `huginn down` stops it."
                )
            process = process_of(server)  # before anybody hears of it, and may end it
            progress(f"Weaviate {server.version} is up (pid {server.pid}); its log: {home.log}")
            _notify("READY=1")
            code = process.wait() if process is not None else None
        except _StopAsked:
            _notify("STOPPING=1")
            stop_server(home)
            return
    raise ServerUnavailable(
        f"Weaviate (pid {server.pid}) ended by itself ({code}). Its last log lines:\n"
        f"{log_tail(home)}\nStart it again; the whole log: {home.log}"
    )


class _StopAsked(BaseException):
    """SIGTERM or SIGINT came: no error, so nothing that handles errors may take it."""


@contextmanager
def _signals_raise() -> Iterator[None]:
    """The first SIGTERM or SIGINT raises ``_StopAsked``; later ones do not break off the stop."""
    asked = False

    def ask(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if not asked:
            asked = True
            raise _StopAsked

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _notify(state: str) -> None:
    """Tells systemd, if it listens (sd_notify(3)); ``@`` stands for the abstract namespace."""
    address = os.environ.get("NOTIFY_SOCKET")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
            out.connect("\0" + address[1:] if address.startswith("@") else address)
            out.sendall(state.encode())
