"""The look-up service: one process that keeps the model and the connection warm (spec 6.8).

::

    service.lock, held for life ──► settings ──► listen ──► warm up ──► ready
          │ held by another                                  (callers poll /status)
          ├─ it listens: nothing to do, exit 0
          └─ it is stopping: wait for its end

It ends on SIGTERM, on ``POST /stop`` and after ``search.idle_timeout`` seconds without a look-up:
the socket goes first, so that newcomers start another; then look-ups in progress are finished;
then the lock is let go of. After a kill -9 the lock is free and the socket a dead file, which the
next one removes. Weaviate may come and go meanwhile: the engine opens a new connection.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from search.client import is_listening
from search.engine import Engine
from search.errors import HuginnError, PermanentError, UsageError
from search.locking import StillHeld, locked
from search.requests import answer
from search.service_place import Place, fingerprint_of, place_of
from search.service_wire import Server, log
from search.settings import Settings, load_settings

_TICK_SECONDS = 0.5
_PREDECESSOR_SECONDS = 60
_LOG_BYTES = 1_000_000


class Service:
    """The state behind the socket."""

    def __init__(self, place: Place, settings: Settings) -> None:
        self.place = place
        self.fingerprint = fingerprint_of(place)
        self.engine = Engine(settings, self.say)
        self._idle_seconds = settings.search.idle_timeout
        self._state = "starting"
        self._warm = False
        self._lock = threading.Lock()
        self._ready_since = 0.0
        self._said: list[str] = []
        self._ended = threading.Event()

    def say(self, line: str) -> None:
        """Progress, for the log and for whoever waits for the start."""
        self._said.append(line)
        log(line)

    def answer(self, command: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The document of a look-up."""
        return answer(command, arguments, self.engine)

    def status(self) -> dict[str, Any]:
        """State, process and what was said while it started."""
        return {"state": self._state, "pid": os.getpid(), "said": self._said[:20]}

    def stop(self) -> None:
        """Ask for the end."""
        self._ended.set()

    def warm_up(self) -> None:
        """Load what look-ups need. What cannot be had is told by the look-up that needs it."""
        warm = True
        try:
            warm = self.engine.warm_up()
        except HuginnError as error:
            log(f"{type(error).__name__} while warming up")
        except Exception as error:  # noqa: BLE001  # a look-up runs into it again and tells
            log(f"{type(error).__name__} while warming up, a bug")
        self._ready_since = time.monotonic()
        self._warm = warm
        self._state = "ready"

    def is_ready(self) -> bool:
        """Whether a look-up is answered at once; the model is loaded once there is a collection."""
        with self._lock:
            if self._state == "ready" and not self._warm and self._has_collection():
                self._state = "starting"
                threading.Thread(target=self.warm_up, daemon=True).start()
            return self._state == "ready"

    def _has_collection(self) -> bool:
        try:
            self.engine.look_up(lambda reader: reader.resolve())
        except HuginnError:
            return False
        return True

    def run(self) -> None:
        """Listens until the end is asked for or nothing was asked for long enough."""
        server = Server(self.place.socket, self)
        threading.Thread(target=self.warm_up, daemon=True).start()
        listener = threading.Thread(target=server.serve_forever, args=(0.05,))
        listener.start()
        log(f"listening, pid {os.getpid()}")
        while not self._ended.wait(_TICK_SECONDS):
            if self._is_idle(server):
                log("nothing was asked for a while")
                break
        self.place.socket.unlink(missing_ok=True)
        server.shutdown()
        listener.join()
        server.server_close()
        log("stopped")

    def _is_idle(self, server: Server) -> bool:
        ready_for = time.monotonic() - self._ready_since
        return self._state == "ready" and self._idle_seconds < min(server.idle_seconds(), ready_for)


def serve(config: Path | None, *, foreground: bool) -> int:
    """Runs the service for the settings in force; returns when it has ended. 0: fine.

    Not in the foreground, standard error goes to ``<data_dir>/search/service.log``.

    Raises:
        HuginnError: a setting is off, or there is no private place for the socket.
    """
    place = place_of(config)
    deadline = time.monotonic() + _PREDECESSOR_SECONDS
    while True:
        with suppress(StillHeld), locked(place.lock, timeout=0):
            return _serve(place, config, foreground=foreground)
        if is_listening(place):
            return 0
        if time.monotonic() > deadline:
            raise PermanentError(
                "The look-up service before this one does not end. `huginn-search serve --stop`."
            )


def _serve(place: Place, config: Path | None, *, foreground: bool) -> int:
    settings = load_settings(config)
    encode_on_one_core()
    if not foreground:
        _log_to(settings.data_dir.expanduser() / "search" / "service.log")
    service = Service(place, settings)

    def asked(_number: int, _frame: FrameType | None) -> None:
        service.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, asked)
    with service.engine:
        service.run()
    return 0


def encode_on_one_core() -> None:
    """A few short texts gain nothing from more cores, and lose much when others want them too.

    Every request has a thread of its own, for which OpenMP makes a team of threads that wait for
    each other: on two busy cores that took four times as long. Before torch is loaded.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def _log_to(path: Path) -> None:
    """Standard output and error from here on, in a file of our own; the last one is kept."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > _LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)


def main(arguments: list[str]) -> int:
    """For the client that starts it: the settings file or nothing. An error is a line of JSON."""
    try:
        return serve(Path(arguments[0]) if arguments else None, foreground=False)
    except UsageError as error:
        facts = {"kind": "usage", "field": error.field, "reason": error.reason, "fix": error.fix}
    except HuginnError as error:
        facts = {"kind": "unavailable", "message": str(error)}
    print(json.dumps(facts), flush=True)  # noqa: T201  # the client reads it
    return 3


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # threads that load a model for nobody would hold the process
