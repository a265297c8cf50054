"""What an increment of a room reaches: the segments that its events touch (spec 4.3, 4.6).

A segment is derived anew as a whole, from the homeserver, whenever an event of it is new, edited
or gone, or when its border with a neighbour may have moved. Nothing else is read or written::

    stored:   [ a b c ]   [ d e ]      [ f g ]
    new:                       x
    reached:              [ d e ] x            d e are read again; does f still begin a segment?

The neighbours on either side are looked at by their first and last message only; one is taken in
when, by the rule of segments, it and the new messages are one.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tasks.chat_ports import RawEvent, RoomHistory, StoredWindow, WindowIndex
from tasks.domain.messages import Message

Key = tuple[datetime, str]
Starts = Callable[[datetime, datetime, str], bool]
"""Whether a message at the second moment, with that id, begins a segment after the first."""

_JUST_BEFORE = timedelta(milliseconds=1)


@dataclass(slots=True)
class Reached:
    """``messages`` are all that is derived anew, by event id; ``windows`` what they replace.

    ``denied`` counts stored events that the homeserver no longer shows and does not call redacted.
    """

    messages: dict[str, Message] = field(default_factory=dict)
    windows: dict[str, StoredWindow] = field(default_factory=dict)
    denied: int = 0


def reach(
    source: str,
    present: Mapping[str, Message | None],
    touched: Collection[str],
    unfinished: Collection[str] = (),
    *,
    index: WindowIndex,
    history: RoomHistory,
    read: Callable[[RawEvent], Message | None],
    starts: Starts,
) -> Reached:
    """Everything that the events of an increment reach.

    ``present`` are events just read, None for those without a text that counts; ``touched`` are
    ids of others that may have changed; ``unfinished`` those of windows that a step cut short was
    replacing, which may be in no window now. ``read`` gives the text in force of a raw event.
    """
    work = _Work(source, dict(present), index, history, read, starts)
    work.take(index.holding(source, [*present, *touched, *unfinished]))
    work.read_again(unfinished)
    while pending := work.overlapping() or work.adjoining():
        work.take(pending)
    messages = {event: each for event, each in work.known.items() if each is not None}
    return Reached(messages, work.taken, work.denied)


@dataclass(slots=True)
class _Work:
    source: str
    known: dict[str, Message | None]
    index: WindowIndex
    history: RoomHistory
    read: Callable[[RawEvent], Message | None]
    starts: Starts
    taken: dict[str, StoredWindow] = field(default_factory=dict)
    spans: set[tuple[str, str]] = field(default_factory=set)
    denied: int = 0

    def take(self, windows: Iterable[StoredWindow]) -> None:
        """Takes in whole segments, and reads their messages again."""
        for thread, segments in _by_thread(windows).items():
            for window in self.index.segments(self.source, thread, sorted(segments)):
                self.taken[window.id] = window
        for window in windows:  # one whose segment is spelled otherwise, by older rules
            self.taken[window.id] = window
        for segment in _grouped(self.taken.values()):
            self.read_again(event for each in segment.windows for event in each.events)

    def read_again(self, events: Iterable[str]) -> None:
        """Asks the homeserver how these events are now, unless that is known."""
        unknown = [event for event in dict.fromkeys(events) if event not in self.known]
        answers = self.history.events(unknown) if unknown else {}
        for event, raw in answers.items():
            self.denied += raw is None
            self.known[event] = self.read(raw) if raw is not None else None

    def overlapping(self) -> list[StoredWindow]:
        """Windows that a run cut short left beside those that were to replace them."""
        found: list[StoredWindow] = []
        for segment in _grouped(self.taken.values()):
            if (segment.thread, segment.name) in self.spans:
                continue
            self.spans.add((segment.thread, segment.name))
            meeting = self.index.between(
                self.source, segment.thread, segment.first[0], segment.last[0]
            )
            found += [each for each in meeting if each.id not in self.taken and segment.meets(each)]
        return found

    def adjoining(self) -> list[StoredWindow]:
        """Windows of neighbour segments that are no longer apart from the messages at hand."""
        found: list[StoredWindow] = []
        threads = {each.thread for each in self.known.values() if each is not None}
        for thread in sorted(threads | {each.thread for each in self.taken.values()}):
            keys = sorted(
                each.order
                for each in self.known.values()
                if each is not None and each.thread == thread
            )
            for segment in self._neighbours(thread, keys):
                if _is_one(segment, keys, self.starts):
                    found += segment.windows
        return found

    def _neighbours(self, thread: str, keys: list[Key]) -> list["Segment"]:
        """The segments on either side of the messages and of what was taken, not taken yet."""
        taken = [each for each in _grouped(self.taken.values()) if each.thread == thread]
        # A segment that starts in a message's own millisecond hides the one before it.
        moments = [
            moment
            for first, last in [
                *((key[0], key[0]) for key in keys),
                *((each.first[0], each.last[0]) for each in taken),
            ]
            for moment in (first - _JUST_BEFORE, last)
        ]
        loaded: dict[str, StoredWindow] = {}
        reach_to: datetime | None = None
        asked = False
        for moment in sorted(set(moments)):
            if asked and (reach_to is None or moment < reach_to):
                continue  # still before the segment that comes next
            found = self.index.neighbours(self.source, thread, moment)
            asked = True
            reach_to = min((each.start for each in found if each.start > moment), default=None)
            loaded |= {each.id: each for each in found if each.id not in self.taken}
        return _grouped(loaded.values())


@dataclass(frozen=True, slots=True)
class Segment:
    """Stored windows of one segment; ``first`` and ``last`` are the keys of its outer messages."""

    thread: str
    name: str
    windows: tuple[StoredWindow, ...]
    first: Key
    last: Key

    def meets(self, window: StoredWindow) -> bool:
        """Whether a window of the same thread lies within this segment's span."""
        return _first(window) <= self.last and self.first <= _last(window)


def _is_one(segment: Segment, keys: list[Key], starts: Starts) -> bool:
    """Whether a stored segment and the messages at ``keys`` can no longer be told apart."""
    before = [key for key in keys if key < segment.first]
    after = [key for key in keys if key > segment.last]
    if len(before) + len(after) < len(keys):
        return True
    if before and not starts(before[-1][0], *segment.first):
        return True
    return bool(after) and not starts(segment.last[0], *after[0])


def _grouped(windows: Iterable[StoredWindow]) -> list[Segment]:
    by_segment: dict[tuple[str, str], list[StoredWindow]] = {}
    for window in windows:
        by_segment.setdefault((window.thread, window.segment), []).append(window)
    return [
        Segment(
            thread,
            name,
            tuple(sorted(group, key=_first)),
            min(_first(each) for each in group),
            max(_last(each) for each in group),
        )
        for (thread, name), group in sorted(by_segment.items())
    ]


def _by_thread(windows: Iterable[StoredWindow]) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for window in windows:
        names.setdefault(window.thread, set()).add(window.segment)
    return names


def _first(window: StoredWindow) -> Key:
    return window.start, window.events[0]


def _last(window: StoredWindow) -> Key:
    return window.end, window.events[-1]
