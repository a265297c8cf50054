"""A range of a room is read again from the homeserver, and what is stored of it put right.

Like a refresh it goes step by step, but what moves is a cursor of the range's own, in the ledger
beside the room's, so a backfill that was killed goes on where it stopped (spec 1.3, 2.3, 2.4).
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from search.ledger import RoomCursor, SourceRecord
from tasks import in_flight
from tasks.domain.acknowledgement import Counts
from tasks.domain.messages import Message, time_of
from tasks.domain.ranges import Edges, Range, RangeCursor, taken, text_of, wider
from tasks.domain.rooms import is_formerly_bridged
from tasks.errors import NoRunBegun, RoomUnreadable, SettingsChanged
from tasks.progress import listener
from tasks.range_records import covered_from, put_range, range_of
from tasks.ranges import RangeAcknowledgement
from tasks.room_context import RoomContext
from tasks.room_derive import derive
from tasks.room_events import Batch, read_batch
from tasks.room_reading import Reading
from tasks.room_sweep import leftovers
from tasks.rooms import begin, checked, later_than_all, target_of, write


def begin_range(context: RoomContext, asked: Range) -> bool:
    """Notes in the ledger that this range is gone through, whatever of another was left undone.

    False: an ordinary run was begun instead, because the cursor vouches for nothing that a range
    could be put right in. A room that was never read is then read back to the range's start only.

    Raises:
        RoomRefused, RoomUnchecked, OtherReader, NoRunBegun: see ``tasks.rooms``.
    """
    record, _ = checked(context)
    cursor = record.room
    if cursor.stream is None or cursor.version != context.version:
        start = text_of(asked.first)
        covered = start if cursor == RoomCursor() else wider(cursor.covered, start)
        begin(context, covered=covered)
        return False
    ledger = context.store.ledger
    wanted = _begun(context, record, asked)
    if record.state == "current":  # if this run is cut short, the next refresh mends what it left
        ledger.put(replace(record, state="refreshing"))
    put_range(ledger, record.source, wanted)
    listener().expect(record.source, None)
    return True


def _begun(context: RoomContext, record: SourceRecord, asked: Range) -> RangeCursor:
    pending = range_of(context.store.ledger, record.source)
    if pending is not None and pending.version == context.version:
        asked = asked.joined(pending.bounds)
    covered, since = record.room.covered, text_of(asked.first)
    extends = bool(covered) and wider(covered, since) == since != covered
    if extends and asked.last is not None:  # what a room is covered from leaves no hole
        asked = replace(asked, last=max(asked.last, datetime.fromisoformat(covered)))
    if (
        pending is not None
        and pending.bounds == asked
        and (pending.version, pending.extends) == (context.version, extends)
    ):
        return pending
    target = target_of(context)
    now = datetime.now(UTC).isoformat()
    return RangeCursor(
        context.version,
        "back",
        since=since,
        until=text_of(asked.last),
        page=target,
        target=target,
        began=later_than_all(context, now),
        extends=extends,
    )


def upsert_range(context: RoomContext, *, allow_mass_delete: bool = False) -> RangeAcknowledgement:
    """One step of a range; the room's own cursor is neither read from nor moved.

    Raises:
        RoomRefused, RoomUnreadable, WritesNotAcknowledged, TooManyDeletes: as in a refresh.
    """
    ledger = context.store.ledger
    record = ledger.record(context.source)
    at = range_of(ledger, record.source)
    if at is None:
        raise NoRunBegun(record.source)
    if at.version != context.version:
        raise SettingsChanged(record.source)
    in_flight.undo(context.store, record.source)
    reading = Reading(context, covered_from(ledger, record))
    if at.phase == "sweep":
        place = RoomCursor(page=at.page, since=at.began, version=at.version)
        left = leftovers(context, place, lambda each: at.bounds.meets(each.start, each.end))
        derived = derive(reading, {}, left.events)
        left.check(record.source, derived, allowed=allow_mass_delete)
        after = replace(at, page=left.page) if left.page else replace(at, phase=None)
        counts = Counts()
    else:
        present, edges, batch = _walked(reading, record, at)
        derived = derive(reading, present, (), rewrite=True)
        after = replace(at, edges=edges, page=batch.next or "")
        if batch.next is None and edges.floor(at.bounds) != at.edges.floor(at.bounds):
            after = replace(at, edges=edges)  # a segment goes on behind where the walk was to end
        elif batch.next is None:
            after = replace(at, phase="sweep", page="", edges=Edges())
        counts = batch.counts(reading.senders)
        listener().advance(record.source, len(batch.events))
    return RangeAcknowledgement(write(reading, record, derived, record.room, counts), at, after)


def _walked(
    reading: Reading, record: SourceRecord, at: RangeCursor
) -> tuple[Mapping[str, Message | None], Edges, Batch]:
    """The events of the next pages that are to be reconciled."""
    context = reading.context
    listed = is_formerly_bridged(context.room, record.alias, context.rules)
    place = RoomCursor(phase="back", page=at.page, target=at.target)
    floor = at.edges.floor(at.bounds)
    batch = read_batch(reading, place, formerly_bridged=listed, floor=floor)
    if at.page == at.target and not batch.events:
        raise RoomUnreadable(record.source)
    messages = {event: each for event, each in batch.present.items() if each is not None}
    wanted, edges = taken(at.bounds, at.edges, messages.values())
    present: dict[str, Message | None] = {
        event: each for event, each in messages.items() if event in wanted
    }
    for raw in batch.events:  # those without a text that counts must go from what is stored
        event, when = str(raw.get("event_id")), time_of(raw)
        if event in batch.present and event not in messages and when and at.bounds.holds(when):
            present[event] = None
    again = context.history.events(sorted(wanted - present.keys()))
    for event, found in again.items():
        present[event] = reading.message(found) if found is not None else None
    return present, edges, batch
