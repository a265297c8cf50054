"""One run at a time over a source: on this machine by a lock, between machines by a lease.

The lock of a killed run dies with it; its lease ends when it has given no sign of life for the
lease's length (spec 2.6).
"""

import hashlib
import os
import platform
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from search.locking import StillHeld, locked
from search.settings import load_settings
from tasks.bootstrap import open_store
from tasks.domain.leases import Claim, Watch
from tasks.errors import SourceBusy
from tasks.lease import leased
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
    folder = settings.data_dir / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = hashlib.sha256(f"{settings.weaviate.collection} {source}".encode()).hexdigest()[:16]

    @contextmanager
    def ledger() -> Iterator[Ledger]:
        with open_store(settings) as store:
            yield store.ledger

    def waits(of: str) -> None:
        listener().say(f"{source}: {of} is at work on it; waiting")

    try:
        with (
            locked(
                folder / f"{key}.lock",
                timeout=WAIT_SECONDS,
                waiting=lambda: waits("another run"),
            ),
            leased(
                ledger,
                _claim(source, _host(folder)),
                Watch(_host(folder), monotonic, settings.lease_seconds),
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
    with suppress(FileExistsError), path.open("x") as file:
        file.write(uuid.uuid4().hex)
    return path.read_text()
