"""The thin client of the look-up service: standard library only, so that a look-up is quick.

One look-up is one request on a private Unix socket. A service that is missing, dead, stale or
gone in the middle is started anew and asked again: look-ups only read.
"""

import http.client
import json
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from search.errors import HuginnError, PermanentError, TransientError, UsageError
from search.service_place import Place, fingerprint_of, place_of, process_at

FINGERPRINT = "X-Huginn-Fingerprint"
_QUICK_SECONDS = 5.0
_TRIES = 4

Say = Callable[[str], None]
Reply = dict[str, Any]


class NotListening(Exception):  # a state that the caller mends
    """Nobody listens on the socket."""


class WentAway(Exception):  # the same
    """Whoever listened has gone, or does not speak our language."""


def ask(
    command: str, arguments: Mapping[str, Any], *, config: Path | None, seconds: float, say: Say
) -> Reply:
    """The document of a look-up by the service, which is started when it is missing.

    ``seconds`` count from when the service is ready (spec 6.5); ``say`` hears what is waited for.

    Raises:
        UsageError: the arguments or a setting are off.
        TransientError: no answer in time, or no service that stays.
        PermanentError: the service could not do it; says what to do.
    """
    from search import service_start

    place = place_of(config)
    for _ in range(_TRIES):
        mark = fingerprint_of(place)
        try:
            reply = send(place, f"/{command}", arguments, seconds=seconds, mark=mark)
        except NotListening:
            service_start.start(place, say)
            continue
        except WentAway:
            say("the look-up service went away: starting it anew")
            service_start.start(place, say)
            continue
        except TimeoutError:
            raise TransientError(
                f"no answer within {seconds:g} s. Ask again, give --timeout more seconds, or see "
                "`huginn-search doctor`."
            ) from None
        error = reply.get("error")
        if error is None:
            return reply
        if error["kind"] == "stale":
            say("the look-up service is older than the code or the settings: starting it anew")
            service_start.stop(place)
            service_start.start(place, say)
        elif error["kind"] == "starting":
            service_start.wait_until_ready(place, say)
        else:
            raise error_of(error)
    raise TransientError(
        "the look-up service does not stay. See its log, search/service.log in data_dir, "
        "or use --no-serve."
    )


def can_serve(config: Path | None) -> bool:
    """Whether a service answers, or may be left in the background to answer."""
    from search.service_start import is_under_service_manager

    return not is_under_service_manager() or is_listening(place_of(config))


def error_of(error: Mapping[str, Any]) -> HuginnError:
    """An error of the wire as an exception."""
    if error["kind"] == "usage" and "field" in error:
        return UsageError(error["field"], error["reason"], error["fix"])
    return PermanentError(error["message"])


def is_listening(place: Place) -> bool:
    """Whether somebody accepts connections on the socket."""
    try:
        _reach(place, _QUICK_SECONDS).close()
    except (NotListening, OSError):
        return False
    return True


def process_of(place: Place) -> int | None:
    """The number of the process that listens; None: nobody, or the system does not tell."""
    try:
        with _reach(place, _QUICK_SECONDS) as connection:
            return process_at(connection)[0]
    except (NotListening, OSError):
        return None


def _reach(place: Place, seconds: float) -> socket.socket:
    """A connection, only to a process of our own user, who alone may see what is asked."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(max(0.01, seconds))
        connection.connect(str(place.socket))
        _refuse_others(place, connection)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        connection.close()
        raise NotListening from error
    except BaseException:
        connection.close()
        raise
    return connection


def send(
    place: Place,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    seconds: float = _QUICK_SECONDS,
    mark: str = "",
) -> Reply:
    """One request: GET without a body, POST with one. The reply is what came as JSON.

    Raises:
        NotListening, WentAway: the service is not there, or no longer.
        TimeoutError: nothing came in time.
    """
    connection = _Connection(place, time.monotonic() + seconds)
    try:
        content = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, content, {FINGERPRINT: mark})
        reply = json.loads(connection.getresponse().read())
    except TimeoutError:
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise WentAway from error
    finally:
        connection.close()
    if not isinstance(reply, dict):
        raise WentAway
    return reply


def _refuse_others(place: Place, connection: socket.socket) -> None:
    if process_at(connection)[1] != place.user:
        raise PermanentError(
            f"{place.socket} is served by somebody else. Remove it, or use --no-serve."
        )


class _Connection(http.client.HTTPConnection):
    """HTTP over the service's socket; ``deadline`` (monotonic) is for the whole exchange."""

    def __init__(self, place: Place, deadline: float) -> None:
        super().__init__("huginn")
        self._place = place
        self._deadline = deadline

    def connect(self) -> None:
        """In place of TCP."""
        self.sock = _reach(self._place, self._deadline - time.monotonic())
