"""One run at a time over a source: on this machine by a lock, between machines by a lease.

The lock of a killed run dies with it; its lease ends when it has given no sign of life for the
lease's length (spec 2.6).
"""

import os
import platform
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from search.locking import StillHeld, locked
from search.settings import load_settings
from tasks.bootstrap import open_store
from tasks.domain.leases import Claim, Watch
from tasks.errors import SourceBusy
from tasks.lease import leased
from tasks.locks import lock_of
from tasks.ports import Ledger
from tasks.progress import listener

WAIT_SECONDS = 3_600.0


@contextmanager
def alone(source: str) -> Iterator[None]:
    """Holds ``source`` for the block; waits for another run over it to end, and says so.

    Raises:
        SourceBusy: the other one is still at work after ``WAIT_SECONDS``.
    """
    settings = load_settings()
    lock = lock_of(settings, source)
    host = _host(lock.parent)

    @contextmanager
    def ledger() -> Iterator[Ledger]:
        with open_store(settings) as store:
            yield store.ledger

    def waits(of: str) -> None:
        listener().say(f"{source}: {of} is at work on it; waiting")

    try:
        with (
            locked(
                lock,
                timeout=WAIT_SECONDS,
                waiting=lambda: waits("another run"),
            ),
            leased(
                ledger,
                _claim(source, host),
                Watch(host, _clock, settings.lease_seconds),
                wait=WAIT_SECONDS,
                waiting=lambda claim: waits(f"a run on {claim.who} (since {claim.since})"),
            ),
        ):
            yield
    except StillHeld:
        raise SourceBusy(source) from None


def _claim(source: str, host: str) -> Claim:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return Claim(source, uuid.uuid4().hex, host, f"{platform.node()}, process {os.getpid()}", since)


def _host(folder: Path) -> str:
    """The same for all runs over this data folder, and no other's."""
    path = folder / "host"
    if not path.exists():
        draft = folder / f"host.{uuid.uuid4().hex}"
        draft.write_text(uuid.uuid4().hex)
        with suppress(FileExistsError):  # another run was quicker
            os.link(draft, path)
        draft.unlink()
    return path.read_text()


def _clock() -> float:
    """Seconds that go on while the machine sleeps, where it can tell."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
