"""Damage to what is stored, done as no run would: by the writer's client, past the ledger."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from search.collection import PARTS_VECTOR, WINDOW_VECTOR
from search.connection import connect
from search.ledger import SourceRecord
from search.reader import Reader
from tasks.adapters.ledger import WeaviateLedger
from tests.support.community import Community

if TYPE_CHECKING:
    from weaviate.collections import Collection

NOWHERE = "00000000-0000-5000-8000-00000000000f"


@contextmanager
def passages_of(community: Community) -> "Iterator[Collection[Any, Any]]":
    """The live collection, with the writer's key."""
    with community.configured() as settings, connect(settings, "writer") as client:
        name = Reader(client, community.collection).resolve().name
        yield client.collections.get(name)


def first_of(community: Community, source: str) -> str:
    """The id of one passage of the source: the same as long as the passages are."""
    return min(community.passages(source))


def lose(community: Community, source: str) -> str:
    """Deletes a passage; its id."""
    lost = first_of(community, source)
    with passages_of(community) as collection:
        collection.data.delete_by_id(lost)
    return lost


def change(community: Community, source: str, **properties: Any) -> str:
    """Changes stored properties of a passage, and nothing that tells so; its id."""
    changed = first_of(community, source)
    with passages_of(community) as collection:
        collection.data.update(changed, properties=properties)
    return changed


def double(community: Community, source: str, **properties: Any) -> str:
    """Puts a copy of a passage beside it, under another id, with other properties; that id."""
    with passages_of(community) as collection:
        found = collection.query.fetch_object_by_id(
            first_of(community, source), include_vector=True
        )
        assert found is not None
        stored = {name: value for name, value in found.properties.items() if value is not None}
        collection.data.insert({**stored, **properties}, uuid=NOWHERE, vector=dict(found.vector))
    return NOWHERE


def blind(community: Community, source: str, vector: str = PARTS_VECTOR) -> str:
    """Takes one of a passage's vectors away; its id."""
    blinded = first_of(community, source)
    kept = {WINDOW_VECTOR, PARTS_VECTOR} - {vector}
    with passages_of(community) as collection:
        found = collection.query.fetch_object_by_id(blinded, include_vector=True)
        assert found is not None
        stored = {name: value for name, value in found.properties.items() if value is not None}
        collection.data.delete_by_id(blinded)
        collection.data.insert(
            stored, uuid=blinded, vector={name: found.vector[name] for name in kept}
        )
    return blinded


def tell(community: Community, source: str, edit: Callable[[SourceRecord], SourceRecord]) -> None:
    """Changes what the ledger says of a source."""
    with community.configured() as settings, connect(settings, "writer") as client:
        name = Reader(client, community.collection).resolve().name
        ledger = WeaviateLedger(client, community.collection, name)
        ledger.put(edit(ledger.record(source)))


def forget(community: Community, source: str) -> None:
    """Takes a source out of the ledger, and leaves its passages."""
    with community.configured() as settings, connect(settings, "writer") as client:
        name = Reader(client, community.collection).resolve().name
        WeaviateLedger(client, community.collection, name).forget(source)


def ahead_to(commit: str) -> Callable[[SourceRecord], SourceRecord]:
    """A repository's cursor at a commit that was never read."""
    return lambda record: record.at(replace(record.cursor, commit=commit))
