"""Stops the embedded server (spec 1.4)."""

from contextlib import suppress

import psutil

from search.embedded_holder import live
from search.embedded_home import Home
from search.embedded_process import process_of, still_live
from search.errors import PermanentError

STOP_SECONDS = 30.0


def stop_server(home: Home, timeout: float = STOP_SECONDS) -> bool:
    """Asks the server to end, ends it after ``timeout`` seconds; False if none ran.

    Raises:
        PermanentError: it survived both.
    """
    processes = {process for server in live(home) if (process := process_of(server))}
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    stubborn = still_live(processes, timeout)
    for process in stubborn:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    left = still_live(stubborn, STOP_SECONDS)
    if left:
        numbers = ", ".join(str(process.pid) for process in left)
        raise PermanentError(f"Weaviate (pid {numbers}) cannot be ended: end it by hand.")
    return bool(processes)
