"""Removing a source that is no longer listed: passages first, the record last (spec 1.5)."""

from dataclasses import replace

from tasks import in_flight
from tasks.commit import distrusted
from tasks.context import Store
from tasks.domain.acknowledgement import Acknowledgement, Confirmation, Counts
from tasks.domain.batches import batched
from tasks.range_records import forget_range
from tasks.room_reading import forget_hiding_edits
from tasks.room_unfinished import forget_unfinished

AT_ONCE = 5_000


def remove(store: Store, source: str) -> Acknowledgement:
    """Deletes all passages of ``source``, then forgets it; run again after a crash, it goes on.

    An exclusion is never held back by the guard against mass deletes (spec 2.7).
    """
    record = store.ledger.record(source)
    record = replace(distrusted(record), state="deleting")
    store.ledger.put(record)
    in_flight.undo(store, source)
    ids = [each.id for each in store.writer.stored(source)]
    gone: set[str] = set()
    for some in batched(ids, AT_ONCE):
        gone |= in_flight.delete(store, source, some)
    acknowledgement = Acknowledgement(
        source=source,
        before=record.place,
        after=record.place,
        deletes=Confirmation.of(ids, gone),
        counts=Counts(deleted=len(gone)),
    )
    forget_hiding_edits(store.ledger, source)
    forget_unfinished(store.ledger, source)
    forget_range(store.ledger, source)
    store.ledger.forget(source)
    return acknowledgement
