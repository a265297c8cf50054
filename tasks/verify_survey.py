"""What a collection holds beside what its sources give: of no source, or known to no index."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from search.connection import connect
from search.reader import Reader
from search.settings import Settings
from tasks.adapters.stored_objects import StoredObjects
from tasks.bootstrap import open_store
from tasks.domain.verification import MOST_NAMED, Finding
from tasks.in_flight import IN_FLIGHT
from tasks.progress import listener
from tasks.settings import run_settings
from tasks.verify_mend import mending


def surveyed() -> list[Finding]:
    """Orphans, of sources that the ledger does not know, and what is held but never found.

    What a batch that was cut in two left is neither: the next run deletes it first.
    """
    settings, _ = run_settings()
    with _objects(settings) as (objects, reader, name):
        told = objects.survey()
        noted = reader.documents(IN_FLIGHT, name)
        known = reader.records(name).keys()
        # Looked at again: a source may have been removed meanwhile, its record last.
        orphans = [each for each in told.counts if each not in known and objects.count(each)]
    found = [
        Finding(source, "different", told.counts[source], {"orphan": told.counts[source]})
        for source in sorted(orphans)
    ]
    for source, ids in sorted(told.hidden.items()):
        hidden = sorted(set(ids) - {*json.loads(noted.get(source, "[]"))})
        if hidden and source not in orphans:
            named = tuple(hidden[:MOST_NAMED])
            count = told.counts[source]
            found.append(Finding(source, "different", count, {"hidden": len(hidden)}, named))
    return found


def expunge_hidden(source: str) -> None:
    """Deletes of ``source`` what is held and never found; the caller holds it."""
    settings, _ = run_settings()
    with _objects(settings) as (objects, _, _name):
        ids = objects.survey().hidden.get(source, [])
    with open_store(settings) as store:
        store.owned(source)
        if source in store.ledger.records():
            store.ledger.put(mending(store.ledger.record(source)))
        store.writer.expunge(ids)


@contextmanager
def _objects(settings: Settings) -> Iterator[tuple[StoredObjects, Reader, str]]:
    with connect(settings, "writer", listener().say) as client:
        reader = Reader(client, settings.weaviate.collection)
        at = reader.resolve()
        yield StoredObjects(client, at.name, at.meta.dimensions), reader, at.name
