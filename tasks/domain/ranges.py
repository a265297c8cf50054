"""A range of time that a backfill goes through, and how far it came (spec 1.3, 4.3).

A range is reconciled by whole segments. A walk meets the newest messages first, and a segment may
lie across either end of the range, so the walk remembers, by thread and by ids alone, the talk just
after the end, and the oldest message that it took::

    segments:   [ a b c d ]   [ e f ]   [ g h i ]
    range:            |──────────────────────|        i is after its end, a b before its start
    taken:      [ a b c d ]   [ e f ]   [ g h i ]
"""

import json
from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from search.errors import UsageError
from search.ledger import known_fields
from search.moments import moment
from tasks.domain.messages import Message
from tasks.domain.segments import GAP, is_boundary

Key = tuple[datetime, str]
"""A message's place in its thread: its time and its event id."""

SLACK: Final = timedelta(days=1)
"""A walk back ends at a page that holds nothing younger than so long before the range: the order
of a room's events is not quite that of their times."""


@dataclass(frozen=True, slots=True)
class Range:
    """From ``first`` to ``last``, both included, in UTC; None: without that bound."""

    first: datetime | None = None
    last: datetime | None = None

    def holds(self, at: datetime) -> bool:
        """Whether a moment lies in it."""
        return self.meets(at, at)

    def meets(self, start: datetime, end: datetime) -> bool:
        """Whether a span has a moment in common with it."""
        return (self.first is None or end >= self.first) and (
            self.last is None or start <= self.last
        )

    def joined(self, other: "Range") -> "Range":
        """The smallest range that holds both."""
        firsts, lasts = (self.first, other.first), (self.last, other.last)
        first = None if None in firsts else min(each for each in firsts if each)
        return Range(first, None if None in lasts else max(each for each in lasts if each))


def asked_range(since: str | None, until: str | None, *, now: datetime | None = None) -> Range:
    """The range that somebody asked for: see ``search.moments`` for the forms of a time.

    Raises:
        UsageError: one is no time, or lies in the future, or they are the wrong way round.
    """
    now = now or datetime.now(UTC)
    first = _past("--from", since, now) if since is not None else None
    last = _past("--to", until, now) if until is not None else None
    if last is not None and until is not None:
        last = min(moment("--to", until, now=now, end_of_day=True), now)
    if first is not None and last is not None and first > last:
        raise UsageError("--from", f"{since!r} is after --to", "Give the earlier time first.")
    return Range(first, last)


def _past(name: str, text: str, now: datetime) -> datetime:
    at = moment(name, text, now=now)
    if at > now:
        raise UsageError(name, f"{text!r} is in the future", "Give a time that is over.")
    return at


@dataclass(frozen=True, slots=True)
class Edges:
    """What a walk back remembers: nothing but ids and times.

    ``later`` are, by thread, the messages of the one segment that began last after the range's end,
    in order; ``oldest`` is the oldest message taken.
    """

    later: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)
    oldest: Mapping[str, Key] = field(default_factory=dict)

    def floor(self, bounds: Range) -> datetime | None:
        """Nothing older than this moment is waited for; None: the walk goes to the start."""
        if bounds.first is None:
            return None
        return min([bounds.first, *(at for at, _ in self.oldest.values())]) - SLACK


def taken(bounds: Range, edges: Edges, messages: Iterable[Message]) -> tuple[set[str], Edges]:
    """The events to be reconciled once these messages were met too, and what to remember.

    They are those of the segments whose span meets the range, also such as were met before.
    """
    found: set[str] = set()
    later = {thread: list(run) for thread, run in edges.later.items()}
    oldest = dict(edges.oldest)
    newest_first = sorted(messages, key=lambda message: message.order, reverse=True)
    for each in newest_first:
        thread, key = each.thread, each.order
        if bounds.last is not None and each.at > bounds.last:
            run = later.setdefault(thread, [])
            if key not in run:
                insort(run, key)
            later[thread] = _first_segment(run)
            continue
        after = later.pop(thread, [])
        joins = bool(after) and not _starts(key, after[0])
        goes_on = thread in oldest and not _starts(key, oldest[thread])
        if not (joins or goes_on or bounds.holds(each.at)):
            continue
        if joins:
            found.update(event for _, event in after)
        found.add(each.event)
        oldest[thread] = min(key, oldest.get(thread, key))
    # Far younger than what was just met: nothing that is still to come joins it.
    reach = newest_first[0].at + SLACK if newest_first else datetime.max.replace(tzinfo=UTC)
    kept = {thread: tuple(run) for thread, run in later.items() if run[0][0] <= reach}
    return found, Edges(kept, oldest)


def _first_segment(run: list[Key]) -> list[Key]:
    for place in range(1, len(run)):
        if _starts(run[place - 1], run[place]):
            return run[:place]
    return run


def _starts(before: Key, key: Key) -> bool:
    """Whether a segment starts at ``key``; one that lies before ``before`` is within its talk."""
    return key[0] - before[0] > GAP or (key > before and is_boundary(key[1]))


@dataclass(frozen=True, slots=True)
class RangeCursor:
    """How far the backfill of a range came, beside the source's own cursor, which never moves.

    ``since`` and ``until`` are UTC times, "" for none. Of a room ``phase`` is ``back`` (a walk from
    ``target``, now at the token ``page``), then ``sweep`` (what the walk did not meet, from the id
    ``page`` on); ``began`` is the time before which nothing was written by it; ``extends``: when it
    is done the room is covered from ``since`` on. Of a repository it is ``commits`` (``done`` of
    those of ``commit``), then ``deletes``. None: done.
    """

    version: str
    phase: Literal["back", "sweep", "commits", "deletes"] | None
    since: str = ""
    until: str = ""
    page: str = ""
    target: str = ""
    began: str = ""
    extends: bool = False
    commit: str = ""
    done: int = 0
    edges: Edges = field(default_factory=Edges)

    @property
    def bounds(self) -> Range:
        """The range."""
        return Range(time_of(self.since), time_of(self.until))

    def as_json(self) -> str:
        """For the ledger."""
        return json.dumps(asdict(self), default=datetime.isoformat, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "RangeCursor":
        """From the ledger."""
        data = known_fields(cls, json.loads(text))
        edges = data.pop("edges", {})
        later = {
            thread: tuple(_key(each) for each in run) for thread, run in edges["later"].items()
        }
        oldest = {thread: _key(each) for thread, each in edges["oldest"].items()}
        return cls(**data, edges=Edges(later, oldest))


def text_of(at: datetime | None) -> str:
    """A moment as the ledger and the flows' parameters have it, "" for none."""
    return at.isoformat() if at else ""


def time_of(text: str) -> datetime | None:
    """The other way round."""
    return datetime.fromisoformat(text) if text else None


def wider(one: str, other: str) -> str:
    """Of two starts of what is covered the one that covers more; "" is the start of the room."""
    return min(one, other, key=lambda text: time_of(text) or datetime.min.replace(tzinfo=UTC))


def _key(each: tuple[str, str]) -> Key:
    return datetime.fromisoformat(each[0]), each[1]
