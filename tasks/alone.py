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
from search.settings import Settings, load_settings
from tasks.aim import aim, aimed
from tasks.bootstrap import open_store
from tasks.domain.leases import Claim, Watch
from tasks.errors import SourceBusy
from tasks.lease import claims, leased
from tasks.locks import lock_of
from tasks.ports import Ledger
from tasks.progress import listener

WAIT_SECONDS = 3_600.0
_POLL_SECONDS = 0.5

REBUILD = "rebuild"
"""What is held, in the place of a source, by the run that fills a new collection."""


@contextmanager
def alone(source: str) -> Iterator[None]:
    """Holds ``source`` for the block; waits for another run over it to end, and says so.

    Meanwhile no rebuild changes on this machine which collection is the live one.

    Raises:
        SourceBusy: the other one is still at work after ``WAIT_SECONDS``.
    """
    with locked(_switch(load_settings()), shared=True), _held(source, WAIT_SECONDS):
        yield


@contextmanager
def rebuilding() -> Iterator[None]:
    """Holds the rebuild for the block.

    Raises:
        SourceBusy: another run is at work on it.
    """
    with _held(REBUILD, 0):
        yield


@contextmanager
def switching(settings: Settings, ledger: Ledger) -> Iterator[None]:
    """Holds off every run on this machine, and waits for those on others, before the block.

    Raises:
        SourceBusy: one is still at work after ``WAIT_SECONDS``.
    """
    switch = _switch(settings)
    watch = Watch(_host(switch.parent), _clock, settings.lease_seconds)
    deadline = _clock() + WAIT_SECONDS

    def say() -> None:
        listener().say("waiting for the runs on the old collection to end")

    with locked(switch, waiting=say):
        while living := [each for each in watch.living(claims(ledger)) if each.source != REBUILD]:
            if _clock() > deadline:
                raise SourceBusy(living[0].source)
            time.sleep(_POLL_SECONDS)
        yield


def _switch(settings: Settings) -> Path:
    return lock_of(settings, "switch").with_name(f"{settings.weaviate.collection}.switch")


@contextmanager
def _held(source: str, wait: float) -> Iterator[None]:
    settings = load_settings()
    lock = lock_of(settings, source)
    host = _host(lock.parent)
    at = aim()

    @contextmanager
    def ledger() -> Iterator[Ledger]:
        with aimed(at), open_store(settings) as store:  # the lease's thread inherits no aim
            yield store.ledger

    def waits(of: str) -> None:
        listener().say(f"{source}: {of} is at work on it; waiting")

    try:
        with (
            locked(lock, timeout=wait, waiting=lambda: waits("another run")),
            leased(
                ledger,
                _claim(source, host),
                Watch(host, _clock, settings.lease_seconds),
                wait=wait,
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
