"""What the ledger keeps of a backfill of a range while it is on its way; gone when it is done."""

from datetime import datetime

from search.ledger import SourceRecord
from tasks.domain.ranges import RangeCursor, time_of, wider
from tasks.ports import Ledger

RANGE = "range"
"""The ledger's kind of document: a ``RangeCursor``, by source."""


def range_of(ledger: Ledger, source: str) -> RangeCursor | None:
    """How far the last backfill came that was not finished; None: there is none."""
    payload = ledger.document(RANGE, source)
    return RangeCursor.from_json(payload) if payload else None


def put_range(ledger: Ledger, source: str, cursor: RangeCursor) -> None:
    """Stores it."""
    ledger.put_document(RANGE, cursor.as_json(), source)


def forget_range(ledger: Ledger, source: str) -> None:
    """It is done, or the source is gone."""
    ledger.forget_document(RANGE, source)


def covered_from(ledger: Ledger, record: SourceRecord) -> datetime | None:
    """The moment from which on messages of a room may be held, None for all.

    What a backfill that was cut short took in counts already: no other run may drop it.
    """
    covered = record.room.covered
    pending = range_of(ledger, record.source) if covered else None
    if pending is not None and pending.extends:
        covered = wider(covered, pending.since)
    return time_of(covered)
