"""Reads stored passages as they are, vectors and all, for ``verify``; nothing here writes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from search.connection import mapped_errors
from tasks.adapters.passage_writer import MOST, in_slots
from tasks.domain.verification import Print, as_written, is_whole, print_of

if TYPE_CHECKING:
    from weaviate import WeaviateClient
    from weaviate.collections.classes.filters import _Filters
    from weaviate.collections.classes.internal import Object

PAGE = 500
"""Passages read at once: with their vectors they are about ten kilobytes each."""

_FINER = 8  # so many times finer than by ids alone, whose pages are of 2,000
_FOUND_BY = ("source", "kind", "digest", "path", "blob", "commit", "segment")
"""What runs and look-ups ask by, where it says anything."""


@dataclass(slots=True)
class Survey:
    """What all of a collection's objects say, read without any index.

    ``counts`` are by source; ``hidden`` are the ids, by source, that no question finds.
    """

    counts: Counter[str] = field(default_factory=Counter)
    hidden: dict[str, list[str]] = field(default_factory=dict)


class StoredObjects:
    """The objects of one collection."""

    def __init__(self, client: "WeaviateClient", collection: str, dimensions: int) -> None:
        """``collection`` is the real name, ``dimensions`` those of every vector in it."""
        self._collection = client.collections.get(collection)
        self._dimensions = dimensions

    def of(self, source: str) -> Iterator[tuple[Print, dict[str, Any], datetime]]:
        """All that is found of a source: digests, properties as written, and when that was."""
        from weaviate.classes.query import Filter

        chosen = Filter.by_property("source").equal(source)
        expected = _FINER * self.count(source)
        for found in in_slots(self._whole, chosen, expected):
            for item in found:
                form = as_written(item.properties)
                whole = is_whole(item.properties, item.vector, self._dimensions)
                claimed = str(item.properties.get("fingerprint") or "")
                made = print_of(str(item.uuid), form, claimed=claimed, whole=whole)
                yield made, form, item.properties["ingested_at"]

    def count(self, source: str) -> int:
        """How many objects a source has, by asking for them."""
        from weaviate.classes.query import Filter

        chosen = Filter.by_property("source").equal(source)
        with mapped_errors("count passages"):
            counted = self._collection.aggregate.over_all(filters=chosen, total_count=True)
        return int(counted.total_count or 0)

    def survey(self) -> Survey:
        """Goes through all objects by id, and asks for each as runs and look-ups do.

        A server that died in the middle of a write may come back with an object that its indexes
        do not know (``tasks/in_flight.py``).
        """
        told, last = Survey(), None
        while True:
            with mapped_errors("read passages"):
                page = self._collection.query.fetch_objects(
                    limit=PAGE, after=last, return_properties=[*_FOUND_BY]
                ).objects
            told.counts.update(_source(item) for item in page)
            for item in self._unfound(page):
                told.hidden.setdefault(_source(item), []).append(str(item.uuid))
            if len(page) < PAGE:
                return told
            last = page[-1].uuid

    def _unfound(self, page: "list[Object[Any, Any]]") -> "list[Object[Any, Any]]":
        """Those that are there, and were there before, and that no question finds."""
        suspects = self._missed(page)
        if suspects:  # written or deleted just now, perhaps: look at those again
            suspects = self._missed([each for item in suspects for each in self._again(item)])
        return suspects

    def _again(self, item: "Object[Any, Any]") -> "Iterator[Object[Any, Any]]":
        with mapped_errors("read passages"):
            found = self._collection.query.fetch_object_by_id(
                item.uuid, return_properties=[*_FOUND_BY]
            )
        if found is not None:
            yield found  # type: ignore[misc]  # the same, without what a query adds

    def _missed(self, page: "list[Object[Any, Any]]") -> "list[Object[Any, Any]]":
        missed = []
        for alike in _by_form(page).values():
            with mapped_errors("look for passages"):
                found = self._collection.query.fetch_objects(
                    filters=_asking_for(alike), limit=len(alike), return_properties=["kind"]
                ).objects
            ids = {item.uuid for item in found}
            missed += [item for item in alike if item.uuid not in ids]
        return missed

    def _whole(self, chosen: "_Filters") -> "list[Object[Any, Any]]":
        with mapped_errors("read passages"):
            return list(
                self._collection.query.fetch_objects(
                    filters=chosen, limit=MOST, include_vector=True
                ).objects
            )


def _source(item: "Object[Any, Any]") -> str:
    return str(item.properties.get("source") or "")


def _by_form(page: "list[Object[Any, Any]]") -> "dict[tuple[str, ...], list[Object[Any, Any]]]":
    """Objects that have something to say in the same properties can be asked for at once."""
    forms: dict[tuple[str, ...], list[Object[Any, Any]]] = {}
    for item in page:
        says = tuple(name for name in _FOUND_BY if item.properties.get(name))
        forms.setdefault(says, []).append(item)
    return forms


def _asking_for(alike: "list[Object[Any, Any]]") -> "_Filters":
    """Finds each of them if every index knows it: each must give its own value or another's."""
    from weaviate.classes.query import Filter

    chosen = Filter.by_id().contains_any([item.uuid for item in alike])
    for name in _FOUND_BY:
        values = dict.fromkeys(
            str(item.properties[name]) for item in alike if item.properties.get(name)
        )
        if values:
            chosen &= Filter.by_property(name).contains_any([*values])
    return chosen
