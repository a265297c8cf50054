"""Starts the embedded server, or joins the one that is there: the inside of the start protocol.

``search/embedded.py`` has the drawing.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import psutil

from search import embedded_holder
from search.binary import find_binary
from search.embedded_home import Home, Server, forget_stillborn, home_of, prepare, record, recorded
from search.embedded_keys import made_keys, read_keys
from search.embedded_ports import Ports, are_free, free_ports
from search.embedded_process import process_of, spawn, still_live
from search.embedded_ready import Ended, PortLost, wait_until_ready
from search.errors import PermanentError, ServerUnavailable
from search.locking import StillHeld, locked
from search.settings import Settings

_TRIES = 3
_LOCK_SPARE_SECONDS = 15
_KILL_SECONDS = 10


def find_or_start(settings: Settings, progress: Callable[[str], None]) -> tuple[Server, bool]:
    """The server, ready, and whether this call started it.

    Raises:
        ServerUnavailable, PermanentError, SettingsError: as ``embedded.ensure_running`` says.
    """
    home = home_of(settings)
    prepare(home)
    with _alone(home, settings) as deadline:
        server = _existing(home, deadline)
    if server is not None:
        return server, False
    _refuse_under_service_manager()
    return start(settings, progress)


def start(settings: Settings, progress: Callable[[str], None]) -> tuple[Server, bool]:
    """The same, for whoever may keep the server as a child of a service manager."""
    home = home_of(settings)
    prepare(home)
    binary = find_binary(settings, progress)
    with _alone(home, settings) as deadline:
        server = _existing(home, deadline)
        if server is not None:
            return server, False
        keys = made_keys(home)
        for ports in _port_choices(home):
            forget_stillborn(home)
            server = spawn(home, binary, ports, keys)
            record(home, server)
            try:
                wait_until_ready(home, server, keys, deadline)
            except PortLost:
                _end(server)
                continue
            except Ended as error:
                message = f"Weaviate ended while it started. Its last log lines:\n{error}\n"
                raise ServerUnavailable(f"{message}The whole log: {home.log}") from error
            except PermanentError:
                _end(server)
                raise
            return _marked_ready(home, server), True
    raise ServerUnavailable(
        f"other processes took Weaviate's ports {_TRIES} times: try again. Its log: {home.log}"
    )


@contextmanager
def _alone(home: Home, settings: Settings) -> Iterator[float]:
    """Holds ``start.lock``; gives the time (monotonic) by which the server has to be ready."""
    timeout = settings.weaviate.start_timeout
    try:
        with locked(home.run / "start.lock", timeout=timeout + _LOCK_SPARE_SECONDS):
            yield time.monotonic() + timeout
    except StillHeld as error:
        raise ServerUnavailable(
            f"another process is still starting Weaviate: try again, or look at {home.log}"
        ) from error


def _existing(home: Home, deadline: float) -> Server | None:
    """The server that is there, waited for if it is starting; None if there is none (any more)."""
    server = recorded(home)
    if server is None or process_of(server) is None:
        server = next(embedded_holder.ours(home), None)
        if server is None:
            _refuse_foreign_holder(home)
            return None
        record(home, server)
    if server.ready:
        return server
    try:
        wait_until_ready(home, server, read_keys(home), deadline)
    except PortLost:
        _end(server)
        return None
    except Ended:
        return None
    return _marked_ready(home, server)


def _marked_ready(home: Home, server: Server) -> Server:
    ready = replace(server, ready=True)
    record(home, ready)
    return ready


def _port_choices(home: Home) -> Iterator[Ports]:
    """Last time's ports if they are free, then fresh ones; ``_TRIES`` in all."""
    last = recorded(home)
    reuse = [last.ports] if last is not None and are_free(last.ports) else []
    yield from reuse
    for _ in range(_TRIES - len(reuse)):
        yield free_ports()


def _end(server: Server) -> None:
    """Ends a server that never became ready."""
    process = process_of(server)
    if process is not None:
        with suppress(psutil.Error):
            process.kill()
        still_live([process], _KILL_SECONDS)


def _refuse_foreign_holder(home: Home) -> None:
    holder = embedded_holder.foreign(home)
    if holder is not None:
        raise PermanentError(
            f"{holder} uses the data folder {home.data}, and Huginn did not start it: "
            f"end it, or name another data_dir."
        )


def _refuse_under_service_manager() -> None:
    """A server that a unit's process leaves behind would die with the unit (spec 1.4)."""
    if os.environ.get("SYSTEMD_EXEC_PID") in {str(os.getpid()), str(os.getppid())}:
        raise PermanentError(
            "Weaviate is not running, and under a service manager nothing is left in the "
            "background: run `huginn up --foreground` as a unit of its own, before this one."
        )
