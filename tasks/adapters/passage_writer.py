"""The only writer of passages. Every answer is read back from the store; no flag is trusted."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from search.collection import PARTS_VECTOR, WINDOW_VECTOR, properties_of, rfc3339
from search.connection import mapped_errors
from search.passage import Passage
from tasks.domain.batches import batched
from tasks.ports import StoredPassage, Vectors

if TYPE_CHECKING:
    from weaviate import WeaviateClient
    from weaviate.collections import Collection
    from weaviate.collections.classes.filters import _Filters
    from weaviate.collections.classes.internal import Object

BATCH = 200
BATCH_BYTES = 4_000_000
"""One gRPC request holds at most so many passages and bytes (W07)."""

PAGE = 2_000
COPIES = 1_000
MOST = 10_000
"""The server's QUERY_MAXIMUM_RESULTS: no answer is longer, so no range may reach it (W05)."""

_SLOTS = 2**32
_SEEN = ["kind", "fingerprint", "rules", "path", "blob", "commit"]


class WeaviatePassageWriter:
    """Writes, deletes and lists the passages of one collection."""

    def __init__(self, client: "WeaviateClient", collection: str, donor: str | None = None) -> None:
        """``collection`` is the real name, not the alias: a rebuild writes to two (spec 2.5).

        ``donor`` is another collection with vectors of the same model, asked after this one.
        """
        self._collection = client.collections.get(collection)
        self._donors = [client.collections.get(name) for name in (collection, donor) if name]

    def stored(
        self,
        source: str,
        *,
        paths: Sequence[str] | None = None,
        commits: Sequence[str] | None = None,
    ) -> Iterator[StoredPassage]:
        """What the store holds of a source: all of it, or of these paths, or of these commits."""
        if paths is None and commits is None:
            yield from self._in_slots(source, self.count(source))
            return
        for name, values in (("path", paths), ("commit", commits)):
            for some in batched(values or (), 100):
                yield from self._with_values(source, name, some)

    def _with_values(self, source: str, name: str, values: list[str]) -> Iterator[StoredPassage]:
        """Halves the question until the answer fits; one value alone is listed by slots."""
        from weaviate.classes.query import Filter

        chosen = Filter.by_property(name).contains_any(values)
        found = self._fetch(Filter.by_property("source").equal(source) & chosen)
        if len(found) < MOST:
            yield from map(_stored, found)
        elif len(values) > 1:
            half = len(values) // 2
            yield from self._with_values(source, name, values[:half])
            yield from self._with_values(source, name, values[half:])
        else:
            yield from self._in_slots(source, 4 * MOST, chosen)

    def _in_slots(
        self, source: str, expected: int, also: "_Filters | None" = None
    ) -> Iterator[StoredPassage]:
        from weaviate.classes.query import Filter

        chosen = Filter.by_property("source").equal(source)
        if also is not None:
            chosen &= also
        for found in in_slots(self._fetch, chosen, expected):
            yield from map(_stored, found)

    def _fetch(self, chosen: "_Filters") -> "list[Object[Any, Any]]":
        with mapped_errors("list passages"):
            return list(
                self._collection.query.fetch_objects(
                    filters=chosen, limit=MOST, return_properties=_SEEN
                ).objects
            )

    def vectors(self, digests: Sequence[str]) -> dict[str, Vectors]:
        """Vectors of any passage with one of these digests, of whatever source (spec 5.4)."""
        found: dict[str, Vectors] = {}
        for donor in self._donors:
            found |= self._vectors(donor, [each for each in digests if each not in found])
        return found

    @staticmethod
    def _vectors(donor: "Collection[Any, Any]", digests: Sequence[str]) -> dict[str, Vectors]:
        from weaviate.classes.query import Filter

        found: dict[str, Vectors] = {}
        wanted = list(dict.fromkeys(digests))
        while wanted:
            some, wanted = wanted[:100], wanted[100:]
            with mapped_errors("read vectors"):
                answer = donor.query.fetch_objects(
                    filters=Filter.by_property("digest").contains_any(some),
                    limit=COPIES,
                    include_vector=True,
                    return_properties=["digest"],
                )
            for item in answer.objects:
                window, parts = item.vector.get(WINDOW_VECTOR), item.vector.get(PARTS_VECTOR)
                if window and parts:
                    found[str(item.properties["digest"])] = Vectors(window, parts)  # type: ignore[arg-type]
            if len(answer.objects) == COPIES:  # Copies of a few crowded the others out: ask again.
                missing = [digest for digest in some if digest not in found]
                wanted += missing if len(missing) < len(some) else []
        return found

    def write(self, passages: Iterable[tuple[Passage, Vectors]]) -> set[str]:
        """Writes by id and gives the ids that the store holds afterwards in just this form."""
        acknowledged: set[str] = set()
        for some in sized_batches(passages):
            acknowledged |= self._write_batch(some)
        return acknowledged

    def _write_batch(self, some: Sequence[tuple[Passage, Vectors]]) -> set[str]:
        from weaviate.classes.data import DataObject

        now = rfc3339(datetime.now(UTC))
        expected: dict[str, str] = {}
        objects = []
        for passage, vectors in some:
            properties = properties_of(passage)
            expected[passage.id] = properties["fingerprint"]
            objects.append(
                DataObject(
                    uuid=passage.id,
                    properties=properties | {"ingested_at": now},
                    vector={
                        WINDOW_VECTOR: list(vectors.window),
                        PARTS_VECTOR: [list(part) for part in vectors.parts],
                    },
                )
            )
        with mapped_errors("write passages"):
            self._collection.data.insert_many(objects)
        held = {item.id: item.fingerprint for item in self._by_id(list(expected))}
        return {
            identifier for identifier, print_ in expected.items() if held.get(identifier) == print_
        }

    def delete(self, ids: Sequence[str]) -> set[str]:
        """Deletes and gives the ids that the store no longer holds."""
        from weaviate.classes.query import Filter

        gone: set[str] = set()
        for some in batched(dict.fromkeys(ids), 1_000):
            with mapped_errors("delete passages"):
                self._collection.data.delete_many(where=Filter.by_id().contains_any(list(some)))
            gone |= set(some) - {item.id for item in self._by_id(some)}
        return gone

    def expunge(self, ids: Sequence[str]) -> None:
        """Deletes one by one what the indexes may not show whole; fine if there is none."""
        for identifier in ids:
            with mapped_errors("delete passages"):
                self._collection.data.delete_by_id(identifier)

    def count(self, source: str) -> int:
        """How many passages the store holds of a source."""
        from weaviate.classes.query import Filter

        with mapped_errors("count passages"):
            counted = self._collection.aggregate.over_all(
                filters=Filter.by_property("source").equal(source), total_count=True
            )
        return int(counted.total_count or 0)

    def _by_id(self, ids: Sequence[str]) -> list[StoredPassage]:
        from weaviate.classes.query import Filter

        return [_stored(item) for item in self._fetch(Filter.by_id().contains_any(list(ids)))]


def in_slots(
    fetch: "Callable[[_Filters], list[Object[Any, Any]]]",
    chosen: "_Filters",
    expected: int,
    low: int = 0,
    high: int = _SLOTS,
) -> "Iterator[list[Object[Any, Any]]]":
    """Lists by ranges of ids, which are spread evenly: no paging, no sort, no upper bound."""
    from weaviate.classes.query import Filter

    width = max((high - low) // max(expected // PAGE, 1), 1)
    for start in range(low, high, width):
        end = min(start + width, high)
        slot = Filter.by_property("slot")
        found = fetch(chosen & slot.greater_or_equal(start) & slot.less_than(end))
        if len(found) < MOST:
            yield found
        else:
            yield from in_slots(fetch, chosen, 4 * PAGE, start, end)


def _stored(item: "Object[Any, Any]") -> StoredPassage:
    values = {name: str(item.properties.get(name) or "") for name in _SEEN}
    return StoredPassage(id=str(item.uuid), **values)


def sized_batches(
    passages: Iterable[tuple[Passage, Vectors]],
) -> Iterator[list[tuple[Passage, Vectors]]]:
    """As many at a time as one request may hold, taken as they are needed; one at least."""
    batch: list[tuple[Passage, Vectors]] = []
    size = 0
    for passage, vectors in passages:
        own = len(json.dumps(passage.text)) + 4 * len(vectors.window) * (1 + len(vectors.parts))
        if batch and (len(batch) >= BATCH or size + own > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((passage, vectors))
        size += own
    if batch:
        yield batch
