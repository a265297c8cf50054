"""The work on one room: begin, then step by step upsert (spec 1.2, 2.3, 4).

Each step reads where to go on from the ledger, so that a task needs no parameter but the room's id,
and a retry or a later run does the same again.
"""

from dataclasses import replace
from datetime import UTC, datetime

from search.ledger import RoomCursor, SourceRecord
from tasks import in_flight
from tasks.domain.acknowledgement import Acknowledgement, Confirmation, Counts
from tasks.domain.ranges import SLACK
from tasks.domain.room_cursors import arrived, begun, swept, walked_back
from tasks.domain.rooms import Admitted, Refused, is_formerly_bridged
from tasks.errors import (
    NoRunBegun,
    OtherReader,
    RoomRefused,
    RoomUnchecked,
    RoomUnreadable,
    SettingsChanged,
)
from tasks.progress import listener
from tasks.range_records import covered_from
from tasks.repos import Begun
from tasks.room_admission import UNSURE, admitted
from tasks.room_context import RoomContext
from tasks.room_derive import Derived, derive
from tasks.room_events import Batch, read_batch
from tasks.room_reading import Reading
from tasks.room_records import reader_of
from tasks.room_sweep import leftovers
from tasks.room_unfinished import note_unfinished
from tasks.vectorise import vectorised_windows


def begin(context: RoomContext, *, from_start: bool = False, covered: str | None = None) -> Begun:
    """Checks whether the room may be read and notes in the ledger where the run goes.

    ``covered`` is how far back a first read goes: see ``tasks.domain.room_cursors.begun``.

    Raises:
        RoomRefused: it may not (spec 3); nothing of its text was read.
        RoomUnchecked: that cannot be told this time; nothing is changed (spec 3.3).
        OtherReader: the ledger holds this room as another reader saw it.
    """
    ledger = context.store.ledger
    record, verdict = checked(context)
    target = target_of(context)
    pending = tuple(purge.id for purge in context.purges if not purge.applied)
    cursor = begun(
        record.room,
        target,
        version=context.version,
        from_start=from_start,
        covered=covered,
        purges=pending,
    )
    if cursor.since != record.room.since:
        cursor = replace(cursor, since=later_than_all(context, cursor.since))
    ledger.put(
        replace(
            record,
            state="refreshing",
            room=cursor,
            identity=context.homeserver.identity,
            alias=verdict.alias,
            name=verdict.name,
            predecessor=verdict.predecessor,
            admission=context.admission,
            label=context.settings.matrix.labels.get(context.room),
            read={},
            last_attempt=datetime.now(UTC),
        )
    )
    listener().expect(context.source, None)
    return Begun(context.source, None, to_do=True)


def checked(context: RoomContext) -> tuple[SourceRecord, Admitted]:
    """What the ledger says of the room, and what the homeserver says of one that may be read.

    Raises:
        RoomRefused, RoomUnchecked, OtherReader: see ``begin``.
    """
    record = context.store.ledger.record(context.source)
    identity = context.homeserver.identity
    if record.identity and record.identity != identity:
        raise OtherReader(record.identity, identity)
    verdict = admitted(context, context.homeserver.standing())
    if isinstance(verdict, Refused):
        if verdict.code in UNSURE:
            raise RoomUnchecked(context.source, verdict.reason)
        raise RoomRefused(context.source, verdict.reason)
    return record, verdict


def target_of(context: RoomContext) -> str:
    """The stream token that the run's discovery reached.

    Raises:
        NoRunBegun: there was none.
    """
    target = reader_of(context.store.ledger).reached
    if target is None:
        raise NoRunBegun(context.source)
    return target


def later_than_all(context: RoomContext, since: str) -> str:
    """A moment that no window was written after, whatever clocks wrote them (spec 2.4)."""
    times = (each.ingested_at for each in context.index.windows(context.source))
    return max([datetime.fromisoformat(since), *times]).isoformat()


def upsert(context: RoomContext, *, allow_mass_delete: bool = False) -> Acknowledgement:
    """One step: at most about ``MOST_EVENTS`` events, or a batch of windows that a walk left over.

    Raises:
        RoomRefused: an event shows that the room may not be read; nothing of the step was written.
        RoomUnreadable: the homeserver gives no event at all for a room that had some.
        WritesNotAcknowledged: the store did not confirm everything; the cursor stays.
        TooManyDeletes: the homeserver no longer shows most of what is held.
    """
    record = context.store.ledger.record(context.source)
    cursor = record.room
    if cursor.phase is None:
        raise NoRunBegun(record.source)
    if cursor.version != context.version:
        raise SettingsChanged(record.source)
    in_flight.undo(context.store, record.source)
    start = covered_from(context.store.ledger, record)
    reading = Reading(context, start)
    if cursor.phase == "sweep":
        left = leftovers(context, cursor)
        derived = derive(reading, {}, left.events)
        left.check(record.source, derived, allowed=allow_mass_delete)
        after = replace(cursor, page=left.page) if left.page else swept(cursor)
        return write(reading, record, derived, after, Counts())
    if cursor.phase == "forward" and cursor.target is None:
        cursor = replace(cursor, target=reader_of(context.store.ledger).reached)
    listed = is_formerly_bridged(context.room, record.alias, context.rules)
    floor = start - SLACK if start is not None else None
    batch = read_batch(reading, cursor, formerly_bridged=listed, floor=floor)
    if cursor.phase == "back" and cursor.page == cursor.target and not batch.events:
        raise RoomUnreadable(record.source)
    rewrite = cursor.phase == "back" and bool(record.passages or cursor.event)
    derived = derive(reading, batch.present, batch.touched, rewrite=rewrite)
    listener().advance(record.source, len(batch.events))
    counts = batch.counts(reading.senders)
    return write(reading, record, derived, _after(cursor, batch), counts)


def _after(cursor: RoomCursor, batch: Batch) -> RoomCursor:
    walked_on = cursor.phase == "back" and cursor.page != cursor.target
    if batch.newest and not walked_on:
        cursor = replace(cursor, event=batch.newest)
    if batch.next is not None:
        return replace(cursor, page=batch.next)
    return walked_back(cursor) if cursor.phase == "back" else arrived(cursor)


def write(
    reading: Reading,
    record: SourceRecord,
    derived: Derived,
    after: RoomCursor,
    counts: Counts,
) -> Acknowledgement:
    """New passages first, then what they replace; both must be acknowledged (spec 2.4)."""
    context = reading.context
    reading.remember()
    if derived.events and (derived.different or derived.stale):
        note_unfinished(context.store.ledger, record.source, derived.events)
    pairs, embedded, reused = vectorised_windows(
        derived.different, context.index, context.embedder, derived.replaced
    )
    acknowledged = in_flight.write(context.store, record.source, pairs)
    upserts = Confirmation.of((each.id for each in derived.different), acknowledged)
    deletes = Confirmation()
    if derived.stale and upserts.planned == upserts.acknowledged:
        gone = in_flight.delete(context.store, record.source, derived.stale)
        deletes = Confirmation.of(derived.stale, gone)
    return Acknowledgement(
        source=record.source,
        before=record.room,
        after=after,
        upserts=upserts,
        deletes=deletes,
        counts=replace(
            counts,
            written=len(acknowledged),
            unchanged=derived.unchanged,
            deleted=len(deletes.acknowledged),
            embedded=embedded,
            reused=reused,
            scrubbed=derived.scrubbed,
        ),
    )
