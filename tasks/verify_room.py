"""The two sides that ``verify`` compares of a room (spec 7.2).

The homeserver tells how every event is now, not how it was at the cursor. So news must be taken
into account on both sides: the next run is done on what is stored, without writing it, forward from
the cursor to now; a clean run reads the room from its start to now. Whatever the cursor stands for
and is not held shows, since that run looks only at what came after::

    stored ── next run, on a copy ──►  as it would be  ┐
                                                       ├─ compared
    nothing ─────── clean run ──────►  as it must be   ┘

While people talk, one side may have read a word that the other has not. Then both go forward once
more, until neither finds anything new.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from search.ledger import RoomCursor
from tasks import rooms
from tasks.adapters.recording import Recording
from tasks.bootstrap import open_chat
from tasks.context import Store
from tasks.domain.acknowledgement import Counts
from tasks.errors import NeverRead, RangeUnfinished, StillMoving
from tasks.range_records import range_of
from tasks.room_context import RoomContext
from tasks.room_records import purges_of, put_reader, reader_of
from tasks.settings import run_settings
from tasks.verify_chain import Sides, Unembedding, run
from tasks.verify_snapshot import Snapshot

ROUNDS = 10
"""So often both sides go on forward before the room is given up as too busy."""


@contextmanager
def room_sides(room: str, snapshot: Snapshot) -> Iterator[Sides]:
    """Both sides, for as long as the block lasts.

    Raises:
        NeverRead: no run has read it yet.
        RangeUnfinished: what is covered of it is not known.
        RoomRefused: it may not be read (any more): the next run removes it.
        RoomUnchecked, RoomUnreadable: the homeserver does not tell enough.
        StillMoving: people talk faster than it is read.
    """
    settings, _ = run_settings()
    with open_chat(settings) as chat, closing(Recording()) as expected:
        yield sides(chat.room(room), snapshot, expected)


def sides(opened: RoomContext, snapshot: Snapshot, expected: Recording) -> Sides:
    """See ``room_sides``; ``opened`` has the source, and a store that is not used."""
    record = snapshot.record
    if record.room == RoomCursor():
        raise NeverRead(record.source)
    held, clean = snapshot.store, snapshot.empty_store(expected)
    pending = range_of(held.ledger, record.source)
    if pending is not None and pending.extends:
        raise RangeUnfinished(record.source)
    _tell_now(opened, held, clean)
    contexts = _on(opened, held, snapshot.held), _on(opened, clean, expected)
    news, _ = [_run(context) for context in contexts]
    found = Sides(expected, snapshot.held, _behind(contexts[0], record.room, news))
    for _ in range(ROUNDS):
        if not found.differ:
            return found
        again = [_run(context) for context in contexts]
        if not any(counts.written or counts.deleted for counts in again):
            return found
    raise StillMoving(record.source)


def _tell_now(opened: RoomContext, *stores: Store) -> None:
    """Both sides' runs end at a token of this moment: one of before the cursor leads back."""
    reader = reader_of(stores[0].ledger)
    now = opened.homeserver.news(reader.reached).next
    for store in stores:
        put_reader(store.ledger, replace(reader, reached=now))


def _on(opened: RoomContext, store: Store, index: Recording) -> RoomContext:
    purges = tuple(each for each in purges_of(store.ledger) if each.room == opened.room)
    return replace(
        opened,
        store=store,
        index=index,
        embedder=Unembedding(opened.embedder),
        purges=purges,
    )


def _run(context: RoomContext) -> Counts:
    return run(
        context.store,
        lambda: rooms.begin(context),
        lambda: rooms.upsert(context, allow_mass_delete=True),
    )


def _behind(context: RoomContext, cursor: RoomCursor, news: Counts) -> str | None:
    """Why what was compared is not what is stored, if it is not."""
    if cursor.phase is not None or cursor.stream is None:
        return "a run was cut short: compared as the next one leaves it"
    if cursor.version != context.version:
        return "settings or rules changed: compared as the next run leaves it"
    if any(not purge.applied for purge in context.purges):
        return "a purge waits for the next run: compared as that leaves it"
    return f"{news.events} events came since" if news.events else None
