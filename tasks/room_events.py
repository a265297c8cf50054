"""Reads a batch of a room's events and tells what each is to us (spec 1.2, 3.2, 3.6)."""

from collections import Counter
from dataclasses import dataclass, field, replace

from search.ledger import RoomCursor
from tasks.chat_ports import Page, RawEvent
from tasks.domain.acknowledgement import Counts
from tasks.domain.messages import STATE, Message, Seen, seen
from tasks.domain.purges import covered
from tasks.domain.rooms import event_refuses
from tasks.errors import RoomRefused
from tasks.room_context import RoomContext

MOST_EVENTS = 1_000
"""A step takes pages until it has so many (spec 1.2)."""

PURGED = "purged"


@dataclass(slots=True)
class Batch:
    """``present`` are messages just read (None: without a text that counts), by event id.

    ``touched`` are other events whose stored form may have changed; ``next`` is the token to go on
    from, None when this direction is done; ``newest`` the last event of any type.
    """

    events: list[RawEvent] = field(default_factory=list)
    present: dict[str, Message | None] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    counts: Counts = field(default_factory=Counts)
    next: str | None = None
    newest: str = ""


def read_batch(context: RoomContext, cursor: RoomCursor, *, formerly_bridged: bool) -> Batch:
    """Pages from where the cursor stands, back or forward.

    ``formerly_bridged``: a steward says that what is left of a bridge does not count.

    Raises:
        RoomRefused: an event shows that the room may not be read (spec 3.1, 3.2).
    """
    batch = _pages(context, cursor)
    for raw in batch.events:
        refused = event_refuses(raw, context.rules, formerly_bridged=formerly_bridged)
        if refused is not None:
            raise RoomRefused(context.source, refused.reason)
    edited: set[str] = set()
    skipped: Counter[str] = Counter()
    for raw in batch.events:
        what = seen(raw, notices=context.settings.matrix.notices)
        if what.message is None and what.targets and what.skipped is None:
            skipped["edit" if raw.get("type") == "m.room.message" else "redaction"] += 1
            batch.touched.update(what.targets)
            if raw.get("type") == "m.room.message":
                edited.update(what.targets)
            continue
        message, reason = kept(context, what)
        if reason is not None:
            skipped[reason] += 1
        if what.event and what.skipped != STATE:
            batch.present[what.event] = message
    batch.touched -= batch.present.keys()
    if cursor.phase == "forward":
        _read_edited(context, batch, edited - batch.present.keys())
    batch.counts = Counts(events=len(batch.events), skipped=dict(skipped))
    return batch


def kept(context: RoomContext, what: Seen) -> tuple[Message | None, str | None]:
    """The message as it may be held, and why there is none."""
    if what.message is None:
        return None, what.skipped
    if covered(what.message, context.purges):
        return None, PURGED
    body = context.rules.puppets.quoted(what.message.body)
    return replace(what.message, body=body), None


def message_of(context: RoomContext, raw: RawEvent) -> Message | None:
    """The same for an event that is read again."""
    return kept(context, seen(raw, notices=context.settings.matrix.notices))[0]


def _read_edited(context: RoomContext, batch: Batch, edited: set[str]) -> None:
    """Originals that no window holds: they may have had no text that counts until now."""
    held = {
        event
        for window in context.index.holding(context.source, sorted(edited))
        for event in window.events
    }
    for event, raw in context.history.events(sorted(edited - held)).items():
        if raw is not None and raw.get("room_id", context.room) == context.room:
            batch.present[event] = message_of(context, raw)


def _pages(context: RoomContext, cursor: RoomCursor) -> Batch:
    batch = Batch(next=cursor.page)
    turn = context.history.back if cursor.phase == "back" else context.history.forward
    while batch.next is not None and len(batch.events) < MOST_EVENTS:
        page: Page = turn(batch.next)
        batch.events += page.events
        done = page.next == batch.next or (cursor.phase == "forward" and not page.events)
        batch.next = None if done else page.next
    if batch.events:
        newest = batch.events[0 if cursor.phase == "back" else -1]
        batch.newest = str(newest.get("event_id") or "")
    return batch
