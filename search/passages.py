"""Reads the passages of one collection. Nothing here writes; the key it is given may not either."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from search.collection import WINDOW_VECTOR
from search.connection import mapped_errors
from search.filters import as_filter
from search.selection import Selection

if TYPE_CHECKING:
    from weaviate import WeaviateClient
    from weaviate.collections.classes.filters import _Filters
    from weaviate.collections.classes.grpc import _Sorting

RETURNED = [
    *("corpus", "source", "kind", "part", "text", "trail", "authors", "start", "end"),
    *("path", "blob", "first_line", "last_line", "columns", "commit", "ingested_at"),
    *("thread", "segment", "events", "turns"),
]

COMPARED = ["source", "text", "end"]
"""What the rankings of several texts are compared and fused by; what is shown is read once."""

MOST = 10_000
"""The server's QUERY_MAXIMUM_RESULTS: no answer is longer."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One passage as it is stored."""

    id: str
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sampled:
    """One passage of a sample, with its own vector and the terms of its keyword side."""

    stored: Stored
    vector: tuple[float, ...]
    keywords: str


class StoredPassages:
    """What a collection holds, asked by other things than words."""

    def __init__(self, client: "WeaviateClient", collection: str) -> None:
        """``collection`` is the real name; ``client`` stays the caller's to close."""
        self._collection = client.collections.get(collection)

    def newest(self, selection: Selection, limit: int) -> list[Stored]:
        """The passages that end last, newest first; those without a time come last."""
        from weaviate.classes.query import Sort

        order = Sort.by_property("end", ascending=False)
        return self._fetched(as_filter(selection), limit, order)

    def by_ids(self, ids: Sequence[str]) -> dict[str, Stored]:
        """Those of the ids that there are."""
        from weaviate.classes.query import Filter

        if not ids:
            return {}
        found = self._fetched(Filter.by_id().contains_any(list(ids)), len(ids))
        return {stored.id: stored for stored in found}

    def holding(self, sources: Sequence[str], events: Sequence[str]) -> list[Stored]:
        """The windows with any piece of these messages."""
        from weaviate.classes.query import Filter

        chosen = Filter.by_property("events").contains_any(list(events))
        return self._fetched(as_filter(Selection(tuple(sources))) & chosen, MOST)

    def of_thread(self, sources: Sequence[str], root: str, limit: int) -> list[Stored]:
        """The windows of a thread, earliest first."""
        from weaviate.classes.query import Sort

        chosen = as_filter(Selection(tuple(sources), threads=(root,)))
        return self._fetched(chosen, limit, Sort.by_property("start", ascending=True))

    def beside(self, of: Stored, limit: int, *, later: bool) -> list[Stored]:
        """Windows of the same timeline that start no earlier (or no later), nearest first.

        The window itself and others that start with it may be among them.
        """
        from weaviate.classes.query import Filter, Sort

        found = of.properties
        start = Filter.by_property("start")
        side = (start.greater_or_equal if later else start.less_or_equal)(found["start"])
        chosen = as_filter(Selection((found["source"],), threads=(found["thread"],))) & side
        return self._fetched(chosen, limit, Sort.by_property("start", ascending=later))

    def of_commits(self, sources: Sequence[str], commits: Sequence[str]) -> list[Stored]:
        """The parts of these commits' messages."""
        from weaviate.classes.query import Filter

        chosen = as_filter(Selection(tuple(sources), kinds=("commit",)))
        return self._fetched(
            chosen & Filter.by_property("commit").contains_any(list(commits)), MOST
        )

    def sample(self, selection: Selection, limit: int) -> tuple[int, list[Sampled]]:
        """How many the selection has, and at most ``limit`` of them with vector and terms.

        Those with the lowest slots: as good as drawn at random, and the same every time.
        """
        from weaviate.classes.query import Sort

        chosen = as_filter(selection)
        with mapped_errors("read passages"):
            total = self._collection.aggregate.over_all(filters=chosen, total_count=True)
            found = self._collection.query.fetch_objects(
                filters=chosen,
                limit=limit,
                sort=Sort.by_property("slot", ascending=True),
                include_vector=[WINDOW_VECTOR],
                return_properties=[*RETURNED, "keywords"],
            )
        sampled = [
            Sampled(
                Stored(str(item.uuid), item.properties),
                tuple(item.vector[WINDOW_VECTOR]),  # type: ignore[arg-type]  # a plain vector
                str(item.properties["keywords"]),
            )
            for item in found.objects
        ]
        return int(total.total_count or 0), sampled

    def counts(self, sources: Sequence[str]) -> dict[str, int]:
        """How many passages each of the sources has, by counting."""
        counted = {}
        for source in sources:
            with mapped_errors("count passages"):
                answer = self._collection.aggregate.over_all(
                    filters=as_filter(Selection((source,))), total_count=True
                )
            counted[source] = int(answer.total_count or 0)
        return counted

    def _fetched(
        self, chosen: "_Filters", limit: int, order: "_Sorting | None" = None
    ) -> list[Stored]:
        with mapped_errors("read passages"):
            found = self._collection.query.fetch_objects(
                filters=chosen, limit=min(limit, MOST), sort=order, return_properties=RETURNED
            )
        return [Stored(str(item.uuid), item.properties) for item in found.objects]
