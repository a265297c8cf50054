"""Starts, awaits and stops the look-up service, from the client's side."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from search import client
from search.errors import PermanentError, TransientError
from search.locking import StillHeld, locked
from search.service_place import CODE, Place

STARTING = "starting the look-up service (the first time up to a minute; it stays for a while)"
_START_SECONDS = 60
_STOP_SECONDS = 40
_POLL_SECONDS = 0.05


def is_under_service_manager() -> bool:
    """Whether a service manager would end what we leave behind together with us (spec 1.4)."""
    return os.environ.get("SYSTEMD_EXEC_PID") in {str(os.getpid()), str(os.getppid())}


def start(place: Place, say: client.Say) -> None:
    """Starts the service if nobody did meanwhile, and waits until it is ready.

    Raises:
        UsageError: a setting is off. PermanentError, TransientError: it does not come up.
    """
    with suppress(StillHeld), locked(place.starting, timeout=_START_SECONDS):
        if not client.is_listening(place):
            say(STARTING)
            _spawn(place)
    wait_until_ready(place, say)


def wait_until_ready(place: Place, say: client.Say) -> None:
    """Returns once the service is ready, or gone; tells what it is doing.

    It bounds itself: a server has ``weaviate.start_timeout`` to come up, a model is loaded.
    """
    told = 0
    while True:
        try:
            status = client.send(place, "/status")
        except (client.NotListening, client.WentAway, TimeoutError):
            return
        for line in status["said"][told:]:
            say(line)
        told = len(status["said"])
        if status["state"] == "ready":
            return
        time.sleep(_POLL_SECONDS)


def stop(place: Place) -> bool:
    """Asks the service to end and waits until it has; one that does not is killed. False: none ran.

    Raises:
        PermanentError: it survives.
    """
    process = client.process_of(place)
    if process is None:
        return False
    with suppress(client.NotListening, client.WentAway, TimeoutError):
        client.send(place, "/stop", {})
    if _is_over(place, _STOP_SECONDS):
        return True
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    if not _is_over(place, _STOP_SECONDS):
        raise PermanentError(f"the look-up service (pid {process}) does not end. End it by hand.")
    return True


def _is_over(place: Place, seconds: float) -> bool:
    try:
        with locked(place.lock, timeout=seconds):
            return True
    except StillHeld:
        return False


def _spawn(place: Place) -> None:
    """A process in a session of its own, so that it outlives us and Ctrl-C spares it."""
    config = [str(place.config)] if place.config else []
    path = (str(CODE.parent), os.environ.get("PYTHONPATH"))  # our own code, never a caller's folder
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "search.service", *config],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    deadline = time.monotonic() + _START_SECONDS
    while not client.is_listening(place):
        if child.poll() is not None:
            _tell_why(child)
            return
        if time.monotonic() > deadline:
            raise TransientError(
                f"the look-up service (pid {child.pid}) does not come up. Use --no-serve."
            )
        time.sleep(_POLL_SECONDS)


def _tell_why(child: "subprocess.Popen[str]") -> None:
    """Raises what ended the child; nothing if another service is there instead."""
    said = child.communicate()[0].strip()
    if child.returncode == 0:
        return
    try:
        error = json.loads(said.splitlines()[-1])
    except (ValueError, IndexError):
        error = {
            "kind": "unavailable",
            "message": f"the look-up service ended at once ({child.returncode}). Use --no-serve "
            "to see why.",
        }
    raise client.error_of(error)
