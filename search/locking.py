"""One process at a time: an advisory lock that the kernel lets go of when its holder dies.

The lock is on the open file, not on the file's existence, so there is nothing stale to clean up:
the file stays, empty, and may be found by the next one (spec 1.4).
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL_SECONDS = 0.1


class StillHeld(Exception):  # a state that callers turn into their own error
    """Somebody else kept the lock for longer than the caller would wait."""


@contextmanager
def locked(
    path: Path,
    *,
    timeout: float | None = None,
    waiting: Callable[[], None] = lambda: None,
    shared: bool = False,
) -> Iterator[None]:
    """Holds the lock on ``path`` (made with mode 0600 when missing) for the block.

    Those that hold it ``shared`` keep out only whoever wants it alone.

    ``timeout`` is in seconds, None waits for as long as the holder lives; ``waiting`` is called
    once when somebody else holds it. The descriptor closes on exec, so no child keeps the lock.

    Raises:
        StillHeld: the time is over.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        told = False
        while not _taken(descriptor, shared=shared):
            if not told:
                waiting()
                told = True
            if deadline is not None and time.monotonic() > deadline:
                raise StillHeld(path)
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int, *, shared: bool) -> bool:
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
