"""The last messages and commits, newest first; nothing is embedded (spec 6.6)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from search.citations import Citation, RoomCitation, citation_of, room_citation
from search.conversation import Message, messages_of
from search.hits import Status, status_of
from search.ledger import SourceRecord
from search.lookups import Ground, on_ground
from search.matrix_links import server_of
from search.passages import MOST, Stored, StoredPassages
from search.reader import Reader
from search.scope import Scope
from search.selection import Selection, selection
from search.settings import Settings
from search.sources import Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One message or commit. ``at`` is when it was sent, or the commit's author date.

    ``id`` is the (first) passage that holds it. ``event`` and ``reply_to`` are a message's.
    """

    id: str
    kind: str
    source: Source
    author: str
    vouched_by: str | None
    at: datetime
    text: str
    citation: Citation | RoomCitation
    status: Status
    event: str | None = None
    reply_to: str | None = None
    also: tuple[Citation, ...] = ()

    @property
    def order(self) -> tuple[float, str]:
        """Newest first, ties by event or commit."""
        place = self.citation
        return -self.at.timestamp(), self.event or (
            place.commit or "" if isinstance(place, Citation) else place.first
        )


@dataclass(frozen=True, slots=True)
class Recent:
    """The answer; ``unavailable`` and ``looked_in`` as for a search."""

    limit: int
    entries: tuple[Entry, ...] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict)
    looked_in: Mapping[str, datetime | None] = field(default_factory=dict)


def recent(scope: Scope, limit: int, *, reader: Reader, settings: Settings) -> Recent:
    """The last ``limit`` messages and commits of what the scope leaves.

    Raises:
        UsageError: the scope names what is not known.
    """

    def look(ground: Ground) -> Recent:
        if ground.resolved is None or not ground.asked.sources:
            return Recent(limit, (), ground.unavailable)
        passages = reader.passages(ground.resolved.name)
        chosen = selection(scope, ground.asked.sources)
        found = [
            *_messages(passages, chosen, limit, ground.asked.sources),
            *_commits(passages, chosen, limit, ground.asked.sources),
        ]
        newest = sorted(found, key=lambda entry: entry.order)[:limit]
        return Recent(limit, tuple(newest), ground.unavailable, ground.looked_in)

    return on_ground(scope, reader, settings, look)


def _messages(
    passages: StoredPassages, chosen: Selection, limit: int, sources: Mapping[str, Source]
) -> list[Entry]:
    windows = chosen.only("window")
    rooms = [source for source in chosen.sources if sources[source].corpus == "chat"]
    if windows is None or not rooms:
        return []

    def those_of(found: Sequence[Stored]) -> dict[str, datetime]:
        messages = messages_of((stored.id, stored.properties) for stored in found)
        return {m.turn.event: m.turn.at for m in messages if _is_chosen(m, chosen)}

    events = _newest(lambda most: passages.newest(windows, most), those_of, limit)
    found = passages.holding(rooms, events) if events else []
    messages = messages_of((stored.id, stored.properties) for stored in found)
    return [
        _of_message(message, sources[message.source])
        for message in messages
        if message.turn.event in events
    ]


def _commits(
    passages: StoredPassages, chosen: Selection, limit: int, sources: Mapping[str, Source]
) -> list[Entry]:
    commits = chosen.only("commit")
    if commits is None or not any(source.corpus == "forge" for source in sources.values()):
        return []

    def those_of(found: Sequence[Stored]) -> dict[str, datetime]:
        return {stored.properties["commit"]: stored.properties["end"] for stored in found}

    shas = _newest(lambda most: passages.newest(commits, most), those_of, limit)
    parts: dict[str, dict[str, list[Stored]]] = {}
    for stored in passages.of_commits(chosen.sources, shas) if shas else []:
        of_sha = parts.setdefault(stored.properties["commit"], {})
        of_sha.setdefault(stored.properties["source"], []).append(stored)
    return [_of_commit(of_sha, sources) for of_sha in parts.values()]


def _newest(
    fetch: Callable[[int], list[Stored]],
    those_of: Callable[[Sequence[Stored]], Mapping[str, datetime]],
    limit: int,
) -> list[str]:
    """The newest ``limit`` things that passages hold, by fetching more passages until it is sure.

    Passages come by their end: what was not fetched ends no later than the last that was.
    """
    most = limit + 1
    while True:
        found = fetch(most)
        times = those_of(found)
        ordered = sorted(times, key=lambda name: (-times[name].timestamp(), name))[:limit]
        is_all = len(found) < most or most >= MOST
        if is_all or (len(ordered) == limit and times[ordered[-1]] > found[-1].properties["end"]):
            return ordered
        most = min(most * 4, MOST)


def _is_chosen(message: Message, chosen: Selection) -> bool:
    """A window that fits may hold messages that do not."""
    at = message.turn.at
    return (
        (not chosen.senders or message.turn.sender in chosen.senders)
        and (chosen.since is None or at >= chosen.since)
        and (chosen.until is None or at <= chosen.until)
    )


def _of_message(message: Message, source: Source) -> Entry:
    turn = message.turn
    record = source.record or SourceRecord(source.id)
    return Entry(
        id=message.passage,
        kind="message",
        source=source,
        author=turn.sender,
        vouched_by=server_of(record.identity),
        at=turn.at,
        text=turn.body,
        citation=room_citation(source, message.thread, turn.event, turn.event),
        status=status_of(record, [turn]),
        event=turn.event,
        reply_to=turn.reply_to or None,
    )


def _of_commit(of_sha: Mapping[str, Sequence[Stored]], sources: Mapping[str, Source]) -> Entry:
    """One commit, which several repositories may have: the first by name stands for them."""
    first, *others = sorted(of_sha)
    parts = sorted(of_sha[first], key=lambda stored: int(stored.properties["part"]))
    found = parts[0].properties
    source = sources[first]
    also = [citation_of(of_sha[other][0].properties, sources[other]) for other in others]
    return Entry(
        id=parts[0].id,
        kind="commit",
        source=source,
        author=", ".join(found["authors"] or ()),
        vouched_by=None,
        at=found["end"],
        text="\n".join(stored.properties["text"].rstrip("\n") for stored in parts),
        citation=citation_of(found, source),
        status=status_of(source.record or SourceRecord(source.id)),
        also=tuple(place for place in also if isinstance(place, Citation)),
    )
