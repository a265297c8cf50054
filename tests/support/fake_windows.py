"""The port ``WindowIndex`` in memory: questions about the windows that a fake writer holds."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from search.collection import fingerprint_of, properties_of
from search.passage import Passage, Turn
from tasks.chat_ports import StoredWindow
from tasks.ports import Vectors
from tests.support.fakes import FakePassageWriter


class FakeWindowIndex:
    """Answers from the facts: what ``writer`` holds at the moment of the question."""

    def __init__(self, writer: FakePassageWriter) -> None:
        self._writer = writer
        self._known: dict[str, tuple[Passage, StoredWindow]] = {}

    def holding(self, source: str, events: Sequence[str]) -> list[StoredWindow]:
        asked = set(events)
        return [each for each in self.windows(source) if asked & {*each.events, *each.edits}]

    def neighbours(self, source: str, thread: str, at: datetime) -> list[StoredWindow]:
        timeline = [each for each in self.windows(source) if each.thread == thread]
        before = max((each.start for each in timeline if each.start <= at), default=None)
        after = min((each.start for each in timeline if each.start > at), default=None)
        names = {each.segment for each in timeline if each.start in (before, after)}
        return self.segments(source, thread, sorted(names))

    def segments(self, source: str, thread: str, names: Sequence[str]) -> list[StoredWindow]:
        return [
            each for each in self.windows(source) if each.thread == thread and each.segment in names
        ]

    def between(
        self, source: str, thread: str | None, first: datetime, last: datetime
    ) -> list[StoredWindow]:
        return [
            each
            for each in self.windows(source)
            if thread in (None, each.thread) and each.start <= last and each.end >= first
        ]

    def windows(self, source: str) -> Iterator[StoredWindow]:
        for passage, _ in [*self._writer.held.values()]:
            if passage.source == source:
                yield self._window(passage, self._writer.times[passage.id])

    def held(self, ids: Sequence[str]) -> Iterator[tuple[tuple[Turn, ...], Vectors]]:
        for identifier in ids:
            if identifier in self._writer.held:
                passage, vectors = self._writer.held[identifier]
                yield passage.turns, vectors

    def _window(self, passage: Passage, ingested_at: datetime) -> StoredWindow:
        known = self._known.get(passage.id)
        if known is None or known[0] is not passage or known[1].ingested_at != ingested_at:
            self._known[passage.id] = known = passage, _stored(passage, ingested_at)
        return known[1]


def _stored(passage: Passage, ingested_at: datetime) -> StoredWindow:
    properties = properties_of(passage)
    assert passage.start is not None
    assert passage.end is not None
    return StoredWindow(
        id=passage.id,
        thread=passage.thread,
        segment=passage.segment,
        events=tuple(properties["events"]),
        edits=tuple(properties["edits"]),
        start=passage.start,
        end=passage.end,
        fingerprint=fingerprint_of(passage),
        rules=passage.rules,
        ingested_at=ingested_at,
    )
