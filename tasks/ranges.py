"""What a step of a backfill stands for, and the commit that moves the range on, never the source.

As with a refresh the commit takes what the store acknowledged, and does not run without it.
"""

from dataclasses import dataclass, replace

from search.ledger import SourceRecord
from tasks.commit import still_owned
from tasks.context import Store
from tasks.domain.acknowledgement import Acknowledgement, Counts
from tasks.domain.ranges import RangeCursor
from tasks.errors import CursorMoved
from tasks.range_records import forget_range, put_range, range_of
from tasks.room_unfinished import forget_unfinished


@dataclass(frozen=True, slots=True)
class RangeAcknowledgement:
    """Every write and delete of one step was confirmed: the range's cursor may become ``after``."""

    step: Acknowledgement
    before: RangeCursor
    after: RangeCursor

    @property
    def source(self) -> str:
        """Whose range it is."""
        return self.step.source

    @property
    def counts(self) -> Counts:
        """What the step did."""
        return self.step.counts

    @property
    def finished(self) -> bool:
        """Whether the range is done once this is committed."""
        return self.after.phase is None


def commit_range(store: Store, acknowledgement: RangeAcknowledgement) -> None:
    """Moves the range on; when it is done, nothing is left of it but what a room is covered from.

    Saying it twice is harmless.

    Raises:
        CursorMoved: the range is not where the step started from.
        LeaseLost: another run may be at work on the source.
    """
    source, ledger = acknowledgement.source, store.ledger
    at = range_of(ledger, source)
    if at == acknowledgement.after or (at is None and acknowledgement.finished):
        return
    if at != acknowledgement.before:
        raise CursorMoved(source)
    still_owned(store, source)
    forget_unfinished(ledger, source)
    if not acknowledgement.finished:
        put_range(ledger, source, acknowledgement.after)
        return
    ledger.put(_done(store, ledger.record(source), acknowledgement.after))
    forget_range(ledger, source)


def _done(store: Store, record: SourceRecord, done: RangeCursor) -> SourceRecord:
    record = replace(record, passages=store.writer.count(record.source))
    if done.extends:
        record = replace(record, room=replace(record.room, covered=done.since))
    at_rest = record.room.phase is None and record.room.stream is not None
    if record.state == "refreshing" and at_rest:  # as ``begin_range`` found it
        record = replace(record, state="current")
    return record
