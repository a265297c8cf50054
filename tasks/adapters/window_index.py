"""Finds the stored windows of a room in Weaviate."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from search.collection import PARTS_VECTOR, WINDOW_VECTOR, turns_of
from search.connection import mapped_errors
from search.passage import Turn
from tasks.adapters.passage_writer import MOST, in_slots
from tasks.chat_ports import StoredWindow
from tasks.domain.batches import batched
from tasks.ports import Vectors

if TYPE_CHECKING:
    from weaviate import WeaviateClient
    from weaviate.collections.classes.filters import _Filters
    from weaviate.collections.classes.internal import Object

_SEEN = [
    *("thread", "segment", "events", "edits", "start", "end", "fingerprint", "rules"),
    "ingested_at",
]
AT_ONCE = 100


class WeaviateWindowIndex:
    """Questions about the windows of one collection; every answer is whole, never a page of it."""

    def __init__(self, client: "WeaviateClient", collection: str) -> None:
        """``collection`` is the real name, not the alias."""
        self._collection = client.collections.get(collection)

    def holding(self, source: str, events: Sequence[str]) -> list[StoredWindow]:
        """Windows that hold one of these events, or a text from one of these edits."""
        from weaviate.classes.query import Filter

        found: dict[str, StoredWindow] = {}
        for some in batched(dict.fromkeys(events), AT_ONCE):
            for name in ("events", "edits"):
                chosen = self._of(source) & Filter.by_property(name).contains_any(some)
                found |= {each.id: each for each in self._fetch(chosen)}
        return list(found.values())

    def neighbours(self, source: str, thread: str, at: datetime) -> list[StoredWindow]:
        """All windows of the segments on either side of a moment of a thread."""
        from weaviate.classes.query import Filter

        timeline = self._of(source) & Filter.by_property("thread").equal(thread)
        start = Filter.by_property("start")
        segments: set[str] = set()
        for chosen, ascending in (
            (timeline & start.less_or_equal(at), False),
            (timeline & start.greater_than(at), True),
        ):
            nearest = self._first(chosen, ascending=ascending)
            if nearest is not None:  # Several may start in that very millisecond.
                alike = self._fetch(timeline & start.equal(nearest.start))
                segments |= {each.segment for each in alike}
        return self.segments(source, thread, sorted(segments))

    def segments(self, source: str, thread: str, names: Sequence[str]) -> list[StoredWindow]:
        """All windows of these segments of a thread."""
        from weaviate.classes.query import Filter

        timeline = self._of(source) & Filter.by_property("thread").equal(thread)
        found: list[StoredWindow] = []
        for some in batched(dict.fromkeys(names), AT_ONCE):
            found += self._fetch(timeline & Filter.by_property("segment").contains_any(some))
        return found

    def between(
        self, source: str, thread: str | None, first: datetime, last: datetime
    ) -> list[StoredWindow]:
        """Windows of a thread (None: of all) whose span meets the closed interval."""
        from weaviate.classes.query import Filter

        chosen = (
            self._of(source)
            & Filter.by_property("start").less_or_equal(last)
            & Filter.by_property("end").greater_or_equal(first)
        )
        if thread is not None:
            chosen &= Filter.by_property("thread").equal(thread)
        return self._fetch(chosen)

    def windows(self, source: str) -> Iterator[StoredWindow]:
        """All windows of a room, in no order, with bounded memory."""
        with mapped_errors("count windows"):
            counted = self._collection.aggregate.over_all(
                filters=self._of(source), total_count=True
            )
        for found in in_slots(self._objects, self._of(source), int(counted.total_count or 0)):
            yield from map(_stored, found)

    def held(self, ids: Sequence[str]) -> Iterator[tuple[tuple[Turn, ...], Vectors]]:
        """The turns of these windows with their vectors, one per part in order."""
        from weaviate.classes.query import Filter

        for some in batched(ids, AT_ONCE):
            with mapped_errors("read vectors"):
                answer = self._collection.query.fetch_objects(
                    filters=Filter.by_id().contains_any(list(some)),
                    limit=AT_ONCE,
                    include_vector=True,
                    return_properties=["turns"],
                )
            for item in answer.objects:
                window, parts = item.vector.get(WINDOW_VECTOR), item.vector.get(PARTS_VECTOR)
                if window and parts:
                    yield turns_of(item.properties), Vectors(window, parts)  # type: ignore[arg-type]

    def _of(self, source: str) -> "_Filters":
        from weaviate.classes.query import Filter

        return Filter.by_property("source").equal(source)

    def _first(self, chosen: "_Filters", *, ascending: bool) -> StoredWindow | None:
        from weaviate.classes.query import Sort

        with mapped_errors("look for windows"):
            found = self._collection.query.fetch_objects(
                filters=chosen,
                sort=Sort.by_property("start", ascending=ascending),
                limit=1,
                return_properties=_SEEN,
            ).objects
        return _stored(found[0]) if found else None

    def _fetch(self, chosen: "_Filters") -> list[StoredWindow]:
        found = self._objects(chosen)
        if len(found) >= MOST:
            slots = in_slots(self._objects, chosen, 4 * MOST)
            found = [item for some in slots for item in some]
        return [_stored(item) for item in found]

    def _objects(self, chosen: "_Filters") -> "list[Object[Any, Any]]":
        with mapped_errors("look for windows"):
            return list(
                self._collection.query.fetch_objects(
                    filters=chosen, limit=MOST, return_properties=_SEEN
                ).objects
            )


def _stored(item: "Object[Any, Any]") -> StoredWindow:
    found: Mapping[str, Any] = item.properties
    return StoredWindow(
        id=str(item.uuid),
        thread=found["thread"] or "",
        segment=found["segment"] or "",
        events=_tuple(found["events"]),
        edits=_tuple(found["edits"]),
        start=found["start"],
        end=found["end"],
        fingerprint=found["fingerprint"] or "",
        rules=found["rules"] or "",
        ingested_at=found["ingested_at"],
    )


def _tuple(values: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(values or ())
