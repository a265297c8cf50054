"""What ``verify`` takes of a source before it compares: all that a run would find (spec 7.2).

The record is read before the passages and after them. When both are the same no run began or moved
a cursor in between, so what was listed is what the cursor stands for, or, of a run that was cut
short, what a kill at some moment leaves. Nothing is locked and nothing written.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from search.connection import connect
from search.ledger import RoomCursor, SourceRecord
from search.reader import Reader, Resolved
from search.settings import Settings
from tasks.adapters.ledger import WeaviateLedger
from tasks.adapters.recording import Recording
from tasks.adapters.stored_objects import StoredObjects
from tasks.context import Store
from tasks.domain.purges import Purge
from tasks.dry_ledger import DryLedger
from tasks.errors import StillMoving
from tasks.in_flight import IN_FLIGHT
from tasks.ports import Ledger
from tasks.progress import listener
from tasks.range_records import RANGE
from tasks.room_reading import HIDING
from tasks.room_unfinished import UNFINISHED
from tasks.tombstones import in_force

if TYPE_CHECKING:
    from weaviate import WeaviateClient

TRIES = 5
"""So often a source is listed again because a run moved its cursor meanwhile."""

_OF_SOURCE = (HIDING, UNFINISHED, IN_FLIGHT, RANGE)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``held`` are the passages that are found, ``count`` of them; the index counts ``indexed``.

    ``documents`` are what the ledger has beside the record, by kind and key, and the purges that
    the file in the data folder has and the ledger lacks.
    """

    record: SourceRecord
    documents: dict[tuple[str, str], str]
    held: Recording
    count: int
    indexed: int

    @property
    def store(self) -> Store:
        """A store in which the next run would find what is held; it changes nothing else."""
        return Store(self.held, _ledger(self.record, self.documents))

    def empty_store(self, recording: Recording) -> Store:
        """A store in which a first run would find itself: the same reader, the same purges.

        Of a room it takes as much as is covered.
        """
        start = RoomCursor(covered=self.record.room.covered)
        record = SourceRecord(self.record.source, identity=self.record.identity, room=start)
        others = {key: text for key, text in self.documents.items() if key[0] not in _OF_SOURCE}
        return Store(recording, _ledger(record, others))


def _ledger(record: SourceRecord, documents: Mapping[tuple[str, str], str]) -> DryLedger:
    ledger = DryLedger()
    ledger.put(record)
    for (kind, key), text in documents.items():
        ledger.put_document(kind, text, key)
    return ledger


@contextmanager
def snapshot(settings: Settings, source: str) -> Iterator[Snapshot]:
    """The source as it is now.

    Raises:
        CollectionMissing: nothing was ever ingested.
        StillMoving: runs moved its cursor again and again.
    """
    with connect(settings, "writer", listener().say) as client:
        alias = settings.weaviate.collection
        at = Reader(client, alias).resolve()
        ledger = WeaviateLedger(client, alias, at.name)
        for _ in range(TRIES):
            record = ledger.record(source)
            documents = _documents(ledger, settings, source)
            held = Recording()
            try:
                indexed = _load(held, client, at, source)
                if ledger.record(source) == record:
                    yield Snapshot(record, documents, held, held.count(source), indexed)
                    return
            finally:
                held.close()
    raise StillMoving(source)


def _load(held: Recording, client: "WeaviateClient", at: Resolved, source: str) -> int:
    """Puts in what is found of a source; how many the index counts."""
    objects = StoredObjects(client, at.name, at.meta.dimensions)
    for found, properties, ingested_at in objects.of(source):
        held.hold(found, properties, ingested_at)
    return objects.count(source)


def _documents(ledger: Ledger, settings: Settings, source: str) -> dict[tuple[str, str], str]:
    found = {("purge", key): text for key, text in ledger.documents("purge").items()}
    for purge in in_force(settings).values():
        waiting: Purge = replace(purge, applied="")
        found.setdefault(("purge", purge.source), waiting.as_json())
    for kind, key in [("reader", ""), *((kind, source) for kind in _OF_SOURCE)]:
        text = ledger.document(kind, key)
        if text is not None:
            found[kind, key] = text
    return found
