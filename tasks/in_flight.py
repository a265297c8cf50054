"""Writes and deletes that may have been cut in two are undone before anything is read (spec 2.3).

Weaviate keeps an object and each of its indexes in logs of their own. A server that dies in the
middle of a batch comes back with some of them: an object that no filter finds, or that lacks its
words, and writing the same object again mends nothing, since the server indexes what differs only.
So the ids of a batch are noted in the ledger before it is sent, and the note goes when the store
confirmed it. Whoever finds a note deletes those objects one by one, by id, which needs no index:
the step that wrote them starts from a store that holds each passage whole or not at all. No cursor
counts on them, for a cursor moves after the note went.
"""

import json
from collections.abc import Sequence

from search.passage import Passage
from tasks.commit import still_owned
from tasks.context import Store
from tasks.ports import Vectors

IN_FLIGHT = "in-flight"
"""The ledger's kind of document: ids of one source's passages."""


def write(store: Store, source: str, pairs: Sequence[tuple[Passage, Vectors]]) -> set[str]:
    """Writes passages; the ids that the store holds afterwards in just this form."""
    store.owned(source)
    planned = [passage.id for passage, _ in pairs]
    _note(store, source, planned)
    written = store.writer.write(pairs)
    still_owned(store, source)
    _forget_if(store, source, planned, written)
    return written


def delete(store: Store, source: str, ids: Sequence[str]) -> set[str]:
    """Deletes passages; the ids that the store no longer holds."""
    store.owned(source)
    _note(store, source, ids)
    gone = store.writer.delete(ids)
    still_owned(store, source)
    _forget_if(store, source, ids, gone)
    return gone


def undo(store: Store, source: str) -> int:
    """Deletes what a run that was cut short may have left half written; how many ids those are.

    Raises:
        ServerUnavailable: Weaviate went away; what was not undone stays noted.
    """
    noted: list[str] = json.loads(store.ledger.document(IN_FLIGHT, source) or "[]")
    if noted:
        store.owned(source)
        store.writer.expunge(noted)
        store.ledger.forget_document(IN_FLIGHT, source)
    return len(noted)


def _note(store: Store, source: str, ids: Sequence[str]) -> None:
    if ids:
        store.ledger.put_document(IN_FLIGHT, json.dumps(list(ids)), source)


def _forget_if(store: Store, source: str, planned: Sequence[str], confirmed: set[str]) -> None:
    if planned and confirmed.issuperset(planned):
        store.ledger.forget_document(IN_FLIGHT, source)
