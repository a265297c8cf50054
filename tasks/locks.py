"""The lock of a source on this machine: a file of the data folder."""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from search.locking import StillHeld, locked
from search.settings import Settings
from tasks.aim import aim


def lock_of(settings: Settings, source: str) -> Path:
    """Its path; the folder is made. The kernel takes the lock from a holder that dies.

    A rebuild's work on a source and that on the live collection do not wait for one another.
    """
    folder = settings.data_dir / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    collection = aim().collection or settings.weaviate.collection
    key = hashlib.sha256(f"{collection} {source}".encode()).hexdigest()[:16]
    return folder / f"{key}.lock"


@contextmanager
def idle(settings: Settings, source: str) -> Iterator[bool]:
    """Whether no run of this machine is at work on ``source``; none begins during the block."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(lock_of(settings, source), timeout=0))
        except StillHeld:
            yield False
        else:
            yield True
