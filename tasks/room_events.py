"""Reads a batch of a room's events and tells what each is to us (spec 1.2, 3.2, 3.6)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from search.ledger import RoomCursor
from tasks.chat_ports import Page, RawEvent
from tasks.domain.acknowledgement import Counts
from tasks.domain.messages import FOREIGN_EDIT, REDACTED, STATE, Message, time_of
from tasks.domain.rooms import event_refuses
from tasks.errors import RoomRefused
from tasks.room_context import RoomContext
from tasks.room_reading import Reading

MOST_EVENTS = 1_000
"""A step takes pages until it has so many (spec 1.2)."""

EDIT, REDACTION = "edit", "redaction"


@dataclass(slots=True)
class Batch:
    """``present`` are messages just read (None: without a text that counts), by event id.

    ``touched`` are other events whose stored form may have changed; ``edits`` what each edit is of,
    and by whom; ``next`` is the token to go on from, None when this direction is done; ``newest``
    the last event of any type.
    """

    events: list[RawEvent] = field(default_factory=list)
    present: dict[str, Message | None] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    edits: list[tuple[str, str]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    next: str | None = None
    newest: str = ""

    def counts(self, senders: Mapping[str, str]) -> Counts:
        """The events by what became of them; ``senders`` of all events that were read."""
        foreign = sum(senders.get(target, sender) != sender for target, sender in self.edits)
        kinds = {EDIT: len(self.edits) - foreign, FOREIGN_EDIT: foreign}
        skipped = self.skipped + Counter(kinds)
        return Counts(events=len(self.events), skipped=dict(skipped))


def read_batch(
    reading: Reading,
    cursor: RoomCursor,
    *,
    formerly_bridged: bool,
    floor: datetime | None = None,
) -> Batch:
    """Pages from where the cursor stands, back or forward.

    ``formerly_bridged``: a steward says that what is left of a bridge does not count. A walk back
    ends at a page of which every event is older than ``floor``.

    Raises:
        RoomRefused: an event shows that the room may not be read (spec 3.1, 3.2).
    """
    context = reading.context
    batch = _pages(context, cursor, floor)
    for raw in batch.events:
        refused = event_refuses(raw, context.rules, formerly_bridged=formerly_bridged)
        if refused is not None:
            raise RoomRefused(context.source, refused.reason, lasting=True)
    redacted: set[str] = set()
    for raw in batch.events:
        what = reading.seen(raw)
        if what.message is None and what.targets and what.skipped is None:
            batch.touched.update(what.targets)
            if raw.get("type") == "m.room.message":
                batch.edits += [(target, str(raw.get("sender"))) for target in what.targets]
            else:
                batch.skipped[REDACTION] += 1
                redacted.update(what.targets)
            continue
        message, reason = reading.kept(what)
        if reason is not None:
            batch.skipped[reason] += 1
        if what.skipped == REDACTED:
            redacted.add(what.event)
        if what.event and what.skipped != STATE:
            batch.present[what.event] = message
    batch.touched -= batch.present.keys()
    if cursor.phase == "forward":
        edited = {target for target, _ in batch.edits}
        _read_textless(reading, batch, (edited | reading.hidden(redacted)) - batch.present.keys())
    return batch


def _read_textless(reading: Reading, batch: Batch, events: set[str]) -> None:
    """Originals that no window holds: they may have had no text that counts until now."""
    context = reading.context
    held = {
        event
        for window in context.index.holding(context.source, sorted(events))
        for event in window.events
    }
    for event, raw in context.history.events(sorted(events - held)).items():
        if raw is not None and raw.get("room_id", context.room) == context.room:
            batch.present[event] = reading.message(raw)


def _pages(context: RoomContext, cursor: RoomCursor, floor: datetime | None) -> Batch:
    batch = Batch(next=cursor.page)
    turn = context.history.back if cursor.phase == "back" else context.history.forward
    while batch.next is not None and len(batch.events) < MOST_EVENTS:
        page: Page = turn(batch.next)
        batch.events += page.events
        done = page.next == batch.next or (cursor.phase == "forward" and not page.events)
        done |= floor is not None and _all_before(page.events, floor)
        batch.next = None if done else page.next
    if batch.events:
        newest = batch.events[0 if cursor.phase == "back" else -1]
        batch.newest = str(newest.get("event_id") or "")
    return batch


def _all_before(events: Sequence[RawEvent], moment: datetime) -> bool:
    times = [at for each in events if (at := time_of(each)) is not None]
    return bool(times) and max(times) < moment
