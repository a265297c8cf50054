"""The cursor commit: the only code that moves a cursor forward, and only on an acknowledgement."""

from dataclasses import replace
from datetime import UTC, datetime

from search.ledger import State
from tasks.context import Store
from tasks.domain.acknowledgement import Acknowledgement
from tasks.errors import CursorMoved


def commit(store: Store, acknowledgement: Acknowledgement) -> None:
    """Moves the source's cursor to what the acknowledgement stands for (spec 2.3).

    Saying it twice is harmless: a retry after a lost answer finds the cursor moved already.

    Raises:
        CursorMoved: the cursor is not the one that the step started from.
    """
    record = store.ledger.record(acknowledgement.source)
    if record.cursor == acknowledgement.after:
        return
    if record.cursor != acknowledgement.before:
        raise CursorMoved(acknowledgement.source)
    moved = replace(record, cursor=acknowledgement.after)
    if acknowledgement.finished:
        state: State = "current"
        moved = replace(
            moved,
            state=state,
            reason=None,
            passages=store.writer.count(record.source),
            last_success=datetime.now(UTC),
        )
    store.ledger.put(moved)


def mark_failed(store: Store, source: str, reason: str) -> None:
    """Notes why a source's run failed; its cursor stays where it was."""
    store.ledger.put(store.ledger.record(source).failed(reason))
