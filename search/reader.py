"""Reads passages and the ledger. Nothing here writes; the key it is given may not either."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from search.candidates import Candidate, ranked
from search.collection import PARTS_VECTOR, CollectionMeta, ledger_name
from search.connection import mapped_errors
from search.errors import CollectionMissing, HuginnError
from search.filters import as_filter
from search.ledger import Journal, SourceRecord, record_id
from search.passages import COMPARED, RETURNED, StoredPassages
from search.query import OVER_FETCH
from search.selection import Selection
from search.terms import asked

if TYPE_CHECKING:
    from weaviate import WeaviateClient

ALPHA = 0.5
"""Share of the vector side in the hybrid score (docs/quality.md)."""

PAGE = 5_000
"""Ledger entries asked for at once: one look-up asks once."""

TRIES = 3
"""So often a look-up asks where the alias points, if what it pointed at is gone when asked."""

_ENTRY = ["kind", "collection", "source", "payload"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """The collection that the alias points at now, and what it was made with."""

    name: str
    meta: CollectionMeta


class Reader:
    """Look-ups by one client, for the passages behind one alias."""

    def __init__(self, client: "WeaviateClient", alias: str) -> None:
        """``client`` stays the caller's to close."""
        self._client = client
        self._alias = alias
        self._metas: dict[str, CollectionMeta] = {}

    def resolve(self) -> Resolved:
        """Where the alias points, once per look-up (spec 2.5).

        Raises:
            CollectionMissing: nothing was ingested yet.
        """
        name = self._pointed()
        while True:
            try:
                return self._known(name)
            except CollectionMissing:
                again = self._pointed()
                if again == name:
                    raise
                name = again  # a rebuild has put another in its place

    def _pointed(self) -> str:
        with mapped_errors("look the collection up"):
            alias = self._client.alias.get(alias_name=self._alias)
        return alias.collection if alias else ""

    def _known(self, name: str) -> Resolved:
        if name and name in self._metas:  # what a collection was made with never changes
            return Resolved(name, self._metas[name])
        with mapped_errors("look the collection up"):
            ledger = self._client.collections.get(ledger_name(self._alias))
            if not name or not ledger.exists():
                raise CollectionMissing("Nothing was ingested yet. Run `huginn refresh` first.")
            if not self._client.collections.exists(name):
                raise CollectionMissing("The collection is gone. Run `huginn refresh` to make it.")
            meta = ledger.query.fetch_object_by_id(record_id("meta", name))
        if meta is None:
            raise CollectionMissing(
                f"The collection {name} has no meta. Run `huginn refresh` to make it whole."
            )
        self._metas[name] = CollectionMeta.from_json(str(meta.properties["payload"]))
        return Resolved(name, self._metas[name])

    def standing(self) -> tuple[Resolved, dict[str, SourceRecord]]:
        """Where the alias points and the records of that collection, asked for at once.

        Raises:
            CollectionMissing: nothing was ingested yet.
        """
        for _ in range(TRIES):
            with ThreadPoolExecutor(max_workers=1) as other:
                listed = other.submit(lambda: [*self._ledger()])
                resolved = self.resolve()
                entries = listed.result()
            # Without a meta it was dropped between the two questions: a rebuild has ended.
            if _payloads(entries, "meta", resolved.name):
                break
            self._metas.clear()
        return resolved, _records(entries, resolved.name)

    def records(self, collection: str) -> dict[str, SourceRecord]:
        """The ledger's record of every source of ``collection``, by source id."""
        return _records(self._ledger(), collection)

    def documents(self, kind: str, collection: str) -> dict[str, str]:
        """All ledger entries of a kind, by key (or source)."""
        return _payloads(self._ledger(), kind, collection)

    def entries(self, collection: str) -> list[tuple[str, str]]:
        """All ledger entries of a collection, as (kind, key or source)."""
        return [
            (str(entry["kind"]), str(entry["source"]))
            for entry in self._ledger()
            if entry["collection"] == collection
        ]

    def _ledger(self) -> Iterator[Mapping[str, Any]]:
        """All entries, read as objects, not by an index.

        An entry that a dying server did not write whole would be hidden by one for good
        (``tasks/in_flight.py``).
        """
        ledger, last = self._client.collections.get(ledger_name(self._alias)), None
        while True:
            with mapped_errors("read the ledger"):
                found = ledger.query.fetch_objects(
                    limit=PAGE, after=last, return_properties=_ENTRY
                ).objects
            yield from (each.properties for each in found)
            if len(found) < PAGE:
                return
            last = found[-1].uuid

    def server_version(self) -> str:
        """Weaviate's version, as it tells it now."""
        with mapped_errors("ask for its version"):
            return str(self._client.get_meta().get("version", "unknown"))

    def journal(self, collection: str) -> Journal | None:
        """Which rooms the last run took in or left out, None before the first (spec 3.6)."""
        with mapped_errors("read the ledger"):
            found = self._client.collections.get(ledger_name(self._alias)).query.fetch_object_by_id(
                record_id("journal", collection), return_properties=["payload"]
            )
        return Journal.from_json(str(found.properties["payload"])) if found else None

    def passages(self, collection: str) -> StoredPassages:
        """The passages of ``collection``, asked by other things than words."""
        return StoredPassages(self._client, collection)

    def hybrid(
        self,
        collection: str,
        text: str,
        vector: Sequence[float],
        selection: Selection,
        *,
        whole: bool = True,
    ) -> list[Candidate]:
        """The best passages of the selection for one text, best first, ties by id.

        Not ``whole``: with the properties that they are compared by. A fixed number is asked for
        whatever the caller wants in the end, since the server's scores shift with its limit
        (spec 6.2).
        """
        from weaviate.classes.query import HybridFusion, MetadataQuery

        with self._forgetting(), mapped_errors("search"):
            found = self._client.collections.get(collection).query.hybrid(
                query=asked(text) or text,
                query_properties=["keywords"],
                vector={PARTS_VECTOR: [list(vector)]},
                target_vector=PARTS_VECTOR,
                alpha=ALPHA,
                fusion_type=HybridFusion.RELATIVE_SCORE,
                filters=as_filter(selection),
                limit=OVER_FETCH,
                return_metadata=MetadataQuery(score=True, explain_score=True),
                return_properties=RETURNED if whole else COMPARED,
            )
        candidates = [
            Candidate(
                id=str(item.uuid),
                score=float(item.metadata.score or 0.0),
                keyword=_signal(item.metadata.explain_score, "bm25"),
                vector=_signal(item.metadata.explain_score, "nearVector"),
                properties=item.properties,
            )
            for item in found.objects
        ]
        return ranked(candidates)

    @contextmanager
    def _forgetting(self) -> Iterator[None]:
        """After an error nothing is taken for known: the collection itself may be gone."""
        try:
            yield
        except HuginnError:
            self._metas.clear()
            raise


def _signal(explanation: str | None, name: str) -> float | None:
    """The original score of one side of the hybrid query, None if that side did not have it."""
    pattern = rf"{name}\) Document \S+ original score (-?[\d.]+(?:e[+-]?\d+)?)"
    found = re.search(pattern, explanation or "")
    return float(found.group(1)) if found else None


def _records(entries: Iterable[Mapping[str, Any]], collection: str) -> dict[str, SourceRecord]:
    payloads = _payloads(entries, "source", collection)
    return {source: SourceRecord.from_json(payloads[source]) for source in sorted(payloads)}


def _payloads(entries: Iterable[Mapping[str, Any]], kind: str, collection: str) -> dict[str, str]:
    return {
        str(entry["source"]): str(entry["payload"])
        for entry in entries
        if (entry["kind"], entry["collection"]) == (kind, collection)
    }
