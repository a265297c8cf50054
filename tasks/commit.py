"""The cursor commit: the only code that moves a cursor forward, and only on an acknowledgement."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from search.ledger import RoomCursor, SourceRecord, State
from tasks.context import Store
from tasks.domain.acknowledgement import Acknowledgement, added
from tasks.domain.cursors import restarted
from tasks.domain.room_cursors import unheld
from tasks.errors import CursorMoved, LeaseLost
from tasks.lease import claimed
from tasks.room_records import mark_applied
from tasks.room_unfinished import forget_unfinished


def commit(store: Store, acknowledgement: Acknowledgement) -> None:
    """Moves the source's cursor to what the acknowledgement stands for (spec 2.3).

    Saying it twice is harmless: a retry after a lost answer finds the cursor moved already.

    Raises:
        CursorMoved: the cursor is not the one that the step started from.
        LeaseLost: another run may be at work on the source.
    """
    record = store.ledger.record(acknowledgement.source)
    if record.place == acknowledgement.after:
        return
    if record.place != acknowledgement.before:
        # What this step wrote came late: the next run has to list what is stored.
        store.ledger.put(distrusted(record))
        raise CursorMoved(acknowledgement.source)
    still_owned(store, acknowledgement.source)
    now = datetime.now(UTC)
    read = added(record.read, acknowledgement.counts.read)
    moved = replace(record.at(acknowledgement.after), read=read, last_attempt=now)
    if acknowledgement.finished:
        state: State = "current"
        moved = replace(
            moved,
            state=state,
            reason=None,
            passages=store.writer.count(record.source),
            last_success=now,
        )
    store.ledger.put(moved)
    before, after = acknowledgement.before, acknowledgement.after
    if isinstance(before, RoomCursor) and isinstance(after, RoomCursor):
        mark_applied(store.ledger, set(before.purges) - set(after.purges))
        forget_unfinished(store.ledger, acknowledgement.source)


def still_owned(store: Store, source: str) -> None:
    """After a write or delete: what came so late that another run may have begun is not trusted.

    Raises:
        LeaseLost: another run may be at work on the source; the next one looks at all of it.
    """
    try:
        store.owned(source)
    except LeaseLost:
        store.ledger.put(distrusted(store.ledger.record(source)))
        raise


def distrusted(record: SourceRecord) -> SourceRecord:
    """The record of a source whose cursor vouches for nothing: the next run lists or reads anew."""
    if isinstance(record.place, RoomCursor):
        return record.at(unheld(record.place))
    return record.at(restarted(record.place))


def mark_failed(store: Store, source: str, reason: str) -> None:
    """Notes why a source's run failed; its cursor stays where it was."""
    store.ledger.put(store.ledger.record(source).failed(reason))


def mark_unavailable(store: Store, reasons: Mapping[str, str]) -> None:
    """The same for sources that no run could begin on; one that another works on is its to mark."""
    busy = claimed(store.ledger)
    for source, reason in reasons.items():
        with store.idle(source) as idle:
            if idle and source not in busy:
                mark_failed(store, source, reason)
