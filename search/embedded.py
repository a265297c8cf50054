"""The local Weaviate with a lifetime of its own: started once, found by everybody (spec 1.4).

The start, as every process that needs the server goes through it:

    server.json says "ready" and names a live process ──────────────► that server
          │ no
          ▼
    ┌ start.lock ──────────────────────────────────────────────────────────────┐
    │ named process lives, not "ready"  ──► wait for it ──► mark ready ─────────┼─► that server
    │ none named, but one of ours was given the data folder (server.json lost,  │
    │   or its starter was killed)      ──► write it down, wait, mark ready ────┼─► that server
    │ a process that is not ours holds the data folder ─────────────────────────┼─► error, with pid
    └──────────────────────────────────────────────────────────────────────────┘
          │ nobody
          ▼
    find the binary (may take minutes, so not under start.lock)
          ▼
    ┌ start.lock ──────────────────────────────────────────────────────────────┐
    │ the same look again: another process may have been quicker                │
    │ keys (made if missing) ─► ports (last time's if free) ─► spawn            │
    │   ─► server.json "not ready" ─► wait ─► server.json "ready" ──────────────┼─► that server
    │ a port lost to somebody: fresh ports, at most three tries                 │
    └──────────────────────────────────────────────────────────────────────────┘

A process counts as live if its number AND its time of start are the recorded ones. The lock dies
with its holder; the server does not. A kill at any arrow leaves a state that the next caller
recovers from. ``server.json`` stays after a stop: it remembers the ports.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from search import embedded_foreground, embedded_holder, embedded_start
from search.embedded_home import Home, Server, home_of, recorded
from search.embedded_keys import Keys, read_keys
from search.embedded_process import process_of
from search.embedded_stop import STOP_SECONDS, stop_server
from search.errors import PermanentError
from search.settings import WEAVIATE_VERSION, Settings

__all__ = [
    "Keys",
    "Server",
    "Status",
    "ensure_running",
    "keys",
    "run_foreground",
    "running",
    "status",
    "stop",
]

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What ``huginn status`` shows of the embedded server.

    ``reason`` says why it is not running, or not ready; ``size`` is in bytes on disk; ``since`` is
    UTC. ``pid``, ports and ``since`` are None when there is no process.
    """

    running: bool
    ready: bool
    pid: int | None
    http_port: int | None
    grpc_port: int | None
    version: str
    since: datetime | None
    data: Path
    log: Path
    size: int
    reason: str | None


def ensure_running(settings: Settings, progress: Progress) -> Server:
    """The embedded server, started if it is not running; returns once it is ready.

    ``progress`` gets one line if this call started it, and lines while a binary is fetched.

    Raises:
        ServerUnavailable: not ready within ``weaviate.start_timeout``, or gone while it started;
            the message holds its last log lines.
        PermanentError: no binary, a foreign process on the data folder, another version running,
            or a service manager above that would take the server down with this process.
        SettingsError: ``data_dir``, ``cache_dir`` or ``weaviate.binary`` is off.
    """
    server = running(settings)
    if server is not None:
        return server
    server, is_new = embedded_start.find_or_start(settings, progress)
    if is_new:
        progress(
            f"started Weaviate {server.version} (pid {server.pid}); it stays up between commands: "
            f"`huginn down` stops it"
        )
    return server


def running(settings: Settings) -> Server | None:
    """The server if it is running and was ready, without waiting or starting; takes a millisecond.

    Raises:
        PermanentError: it is of another version than this Huginn needs.
    """
    server = recorded(home_of(settings))
    if server is None or not server.ready or process_of(server) is None:
        return None
    if server.version != WEAVIATE_VERSION:
        raise PermanentError(
            f"Weaviate {server.version} (pid {server.pid}) is running, this Huginn needs "
            f"{WEAVIATE_VERSION}: `huginn down`, then `huginn up`."
        )
    return server


def keys(settings: Settings) -> Keys:
    """The writer's and the reader's key, made when the server was first started.

    Raises:
        PermanentError: they are missing.
    """
    return read_keys(home_of(settings))


def stop(settings: Settings, timeout: float = STOP_SECONDS) -> bool:
    """Stops the server: asks it to, and ends it after ``timeout`` seconds. False if none ran.

    Only a process that we started for this data folder is ever signalled.

    Raises:
        PermanentError: it survived both.
    """
    return stop_server(home_of(settings), timeout)


def status(settings: Settings) -> Status:
    """The state of things; changes nothing and waits for nothing."""
    home = home_of(settings)
    server = next(embedded_holder.live(home), None)
    return Status(
        running=server is not None,
        ready=server is not None and server.ready,
        pid=server.pid if server else None,
        http_port=server.http_port if server else None,
        grpc_port=server.grpc_port if server else None,
        version=server.version if server else WEAVIATE_VERSION,
        since=datetime.fromtimestamp(server.created, UTC) if server else None,
        data=home.data,
        log=home.log,
        size=_size(home.data),
        reason=_reason(home, server),
    )


def run_foreground(settings: Settings, progress: Progress) -> None:
    """Starts the server and stays with it until SIGTERM or SIGINT: for service managers.

    Raises:
        PermanentError: one is running already, or as ``ensure_running``.
        ServerUnavailable: it ended by itself.
    """
    embedded_foreground.supervise(settings, progress)


def _reason(home: Home, server: Server | None) -> str | None:
    if server is not None:
        return None if server.ready else "it is starting, or its start was cut short"
    holder = embedded_holder.foreign(home)
    if holder is not None:
        return f"{holder}, which Huginn did not start, uses its data folder"
    last = recorded(home)
    if last is None:
        return "it was never started with this data_dir"
    return f"it is stopped (its last pid was {last.pid})"


def _size(folder: Path) -> int:
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += (Path(directory) / name).lstat().st_blocks * 512
    return total
