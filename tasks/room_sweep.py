"""What a walk through a room left over: windows by older rules, of lost events, or purged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest

from search.ledger import RoomCursor
from tasks.chat_ports import StoredWindow
from tasks.domain.cursors import GUARDED_FROM
from tasks.errors import TooManyDeletes
from tasks.room_context import RoomContext
from tasks.room_derive import Derived

AT_ONCE = 100
"""Windows that one step reads again."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """A batch of them: ``events`` are to be read again; ``page`` is where to go on, "" at the end.

    ``due`` counts all that were left when the batch was taken, of ``stored`` windows.
    """

    events: tuple[str, ...]
    page: str
    due: int
    stored: int

    def check(self, source: str, derived: Derived, *, allowed: bool) -> None:
        """Stops a run to which the homeserver denies most of what is held (spec 2.7).

        Redactions and purges are never held back: only events that it no longer shows count.

        Raises:
            TooManyDeletes: with the counts; nothing of this step was written or deleted.
        """
        denied = derived.denied * 2 > len(self.events)
        if not allowed and denied and self.stored >= GUARDED_FROM and self.due * 2 > self.stored:
            raise TooManyDeletes(source, self.due, self.stored)


def leftovers(
    context: RoomContext,
    cursor: RoomCursor,
    within: Callable[[StoredWindow], bool] = lambda _: True,
) -> Leftovers:
    """The next batch, in order of id from where the cursor stands, of the windows ``within``."""
    stored = context.store.writer.count(context.source)
    due = 0

    def left() -> Iterator[tuple[str, tuple[str, ...]]]:
        nonlocal due
        for each in context.index.windows(context.source):
            if each.id > cursor.page and within(each) and _is_left(context, cursor, each):
                due += 1
                yield each.id, each.events

    batch = nsmallest(AT_ONCE, left())
    events = dict.fromkeys(event for _, held in batch for event in held)
    return Leftovers(tuple(events), batch[-1][0] if batch else "", due, stored)


def _is_left(context: RoomContext, cursor: RoomCursor, window: StoredWindow) -> bool:
    if window.rules != context.version:
        return True
    if cursor.since and window.ingested_at <= datetime.fromisoformat(cursor.since):
        return True
    return any(
        purge.may_cover(window.start, window.end, (*window.events, *window.edits))
        for purge in context.purges
        if purge.id in cursor.purges
    )
