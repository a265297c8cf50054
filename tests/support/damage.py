"""Damage to what is stored, done as no run would: by the writer's client, past the ledger."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from search.collection import PARTS_VECTOR, WINDOW_VECTOR
from search.connection import connect
from search.ledger import SourceRecord
from search.passage import slot_of
from search.reader import Reader
from tasks.adapters.ledger import WeaviateLedger
from tests.support.community import Community

if TYPE_CHECKING:
    from weaviate.collections import Collection

    Passages = Collection[Any, Any]

Damage = Callable[["Passages", str], str]
"""Does it to the passage of an id; gives the id of the one that is then not as it must be."""


def lose(collection: "Passages", passage: str) -> str:
    """Deletes it."""
    collection.data.delete_by_id(passage)
    return passage


def reword(collection: "Passages", passage: str) -> str:
    """Another text; what tells a run so stays as it was."""
    collection.data.update(passage, properties={"text": "Nobody ever said so."})
    return passage


def cite_elsewhere(collection: "Passages", passage: str) -> str:
    """Another place."""
    collection.data.update(passage, properties={"blob": "f" * 40, "edits": ["$elsewhere"]})
    return passage


def mislead(collection: "Passages", passage: str) -> str:
    """Another fingerprint."""
    collection.data.update(passage, properties={"fingerprint": "0" * 64})
    return passage


def double(collection: "Passages", passage: str) -> str:
    """A copy of it under another id, which looks as if it belonged."""
    other = f"{passage[:-4]}{int(passage[-4:], 16) ^ 0xFFFF:04x}"
    properties, vectors = _found(collection, passage)
    slot = {"slot": slot_of(other), "part": 9}
    collection.data.insert({**properties, **slot}, uuid=other, vector=vectors)
    return other


def blind(collection: "Passages", passage: str) -> str:
    """Without the vectors of its parts."""
    properties, vectors = _found(collection, passage)
    collection.data.delete_by_id(passage)
    collection.data.insert(properties, uuid=passage, vector={WINDOW_VECTOR: vectors[WINDOW_VECTOR]})
    return passage


ALL: dict[str, Damage] = {
    "missing": lose,
    "text": reword,
    "citation": cite_elsewhere,
    "form": mislead,
    "extra": double,
    "vectors": blind,
}
"""By what ``verify`` calls it."""


def do_all(community: Community, source: str) -> set[str]:
    """Every kind of damage, each to another passage of the source; what must be found."""
    passages = sorted(community.passages(source))
    assert len(passages) >= len(ALL)
    with live(community) as (collection, _):
        return {
            hurt(collection, passage) for hurt, passage in zip(ALL.values(), passages, strict=False)
        }


@contextmanager
def live(community: Community) -> "Iterator[tuple[Passages, WeaviateLedger]]":
    """The live collection and its ledger, with the writer's key."""
    with community.configured() as settings, connect(settings, "writer") as client:
        name = Reader(client, community.collection).resolve().name
        yield client.collections.get(name), WeaviateLedger(client, community.collection, name)


def tell(community: Community, source: str, edit: Callable[[SourceRecord], SourceRecord]) -> None:
    """Changes what the ledger says of a source."""
    with live(community) as (_, ledger):
        ledger.put(edit(ledger.record(source)))


def _found(collection: "Passages", passage: str) -> tuple[dict[str, Any], dict[str, Any]]:
    found = collection.query.fetch_object_by_id(passage, include_vector=True)
    assert found is not None
    properties = {name: value for name, value in found.properties.items() if value is not None}
    return properties, {name: found.vector[name] for name in (WINDOW_VECTOR, PARTS_VECTOR)}
