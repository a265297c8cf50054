"""Derives the passages of everything that an increment reaches (spec 4.2-4.4)."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from search.collection import fingerprint_of
from search.passage import Passage
from tasks.domain.messages import Message
from tasks.domain.room_scrub import scrubbed
from tasks.domain.segments import GAP, is_boundary, segments
from tasks.domain.windows import chat_passages, windows
from tasks.room_context import RoomContext
from tasks.room_reach import reach
from tasks.room_reading import Reading
from tasks.room_unfinished import unfinished


@dataclass(slots=True)
class Derived:
    """``different`` are to be written, ``stale`` ids deleted, ``replaced`` ids of both kinds held.

    ``events`` are those of the windows replaced, and of what was left unfinished before. ``denied``
    counts events that were held and that the homeserver no longer shows.
    """

    different: list[Passage] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    unchanged: int = 0
    scrubbed: Mapping[str, int] = field(default_factory=dict)
    denied: int = 0


def derive(
    reading: Reading,
    present: Mapping[str, Message | None],
    touched: Collection[str],
    *,
    rewrite: bool = False,
) -> Derived:
    """What is to be written and deleted for these events; see ``tasks.room_reach``.

    With ``rewrite`` what is stored as it should be is written again, so that a walk through the
    whole room leaves its mark on everything that it met.
    """
    context = reading.context
    left = unfinished(context.store.ledger, context.source)
    reached = reach(
        context.source,
        present,
        touched,
        left,
        index=context.index,
        history=context.history,
        read=reading.message,
        starts=_starts,
    )
    passages, counts = _passages(context, reached.messages)
    windows_held = sorted(reached.windows.values(), key=lambda each: (each.start, each.id))
    events = [*left, *(event for each in windows_held for event in each.events)]
    held = {each.id: each.fingerprint for each in windows_held}
    different = [each for each in passages if rewrite or held.get(each.id) != fingerprint_of(each)]
    ids = {each.id for each in passages}
    return Derived(
        different=different,
        stale=sorted(held.keys() - ids),
        replaced=sorted(held),
        events=list(dict.fromkeys(events)),
        unchanged=len(passages) - len(different),
        scrubbed=counts,
        denied=reached.denied,
    )


def _passages(
    context: RoomContext, messages: Mapping[str, Message]
) -> tuple[list[Passage], Counter[str]]:
    threads: dict[str, list[Message]] = {}
    for message in messages.values():
        threads.setdefault(message.thread, []).append(message)
    passages: list[Passage] = []
    counts: Counter[str] = Counter()
    for thread, theirs in sorted(threads.items()):
        for segment in segments(theirs):
            clean, found = scrubbed(segment, context.scrubber)
            counts += found
            packed = windows(
                clean,
                count_tokens=context.embedder.count_tokens,
                token_limit=context.embedder.identity.token_limit,
            )
            passages += chat_passages(context.room, thread, packed, rules=context.version)
    return passages, counts


def _starts(before: datetime, at: datetime, event: str) -> bool:
    return at - before > GAP or is_boundary(event)
