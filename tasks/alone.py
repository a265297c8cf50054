"""One run at a time over a source on this machine; a killed run's lock dies with it.

Leases (spec 2.6) will do the same for several machines. Until then ``commit_cursor`` refuses to
move a cursor that another machine's run has moved.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from search.locking import StillHeld, locked
from search.settings import load_settings
from tasks.errors import SourceBusy
from tasks.progress import listener

WAIT_SECONDS = 3_600.0


@contextmanager
def alone(source: str) -> Iterator[None]:
    """Holds ``source`` for the block; waits for another run of this machine to end, and says so.

    Raises:
        SourceBusy: the other one is still at work after ``WAIT_SECONDS``.
    """
    settings = load_settings()
    folder = settings.data_dir / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = hashlib.sha256(f"{settings.weaviate.collection} {source}".encode()).hexdigest()[:16]
    try:
        with locked(
            folder / f"{key}.lock",
            timeout=WAIT_SECONDS,
            waiting=lambda: listener().say(f"{source}: another run is at work on it; waiting"),
        ):
            yield
    except StillHeld:
        raise SourceBusy(source) from None
