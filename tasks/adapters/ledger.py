"""The ledger in Weaviate: a small collection beside the passages (spec 2.2)."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from search.collection import CollectionMeta, ledger_name, rfc3339
from search.connection import mapped_errors
from search.ledger import SourceRecord, record_id
from search.reader import Reader
from tasks.errors import WritesNotAcknowledged

if TYPE_CHECKING:
    from weaviate import WeaviateClient


class WeaviateLedger:
    """One object per record, so that concurrent tasks never overwrite one another (spec 2.1)."""

    def __init__(self, client: "WeaviateClient", alias: str, collection: str) -> None:
        """``collection`` is the real name of the passages' collection, half of the key."""
        self._objects = client.collections.get(ledger_name(alias))
        self._reader = Reader(client, alias)
        self._collection = collection

    def record(self, source: str) -> SourceRecord:
        """The source's record; a new one when there is none."""
        payload = self._payload(record_id("source", self._collection, source))
        return SourceRecord.from_json(payload) if payload else SourceRecord(source)

    def put(self, record: SourceRecord) -> None:
        """Stores the record, acknowledged by reading it back.

        Raises:
            WritesNotAcknowledged: the store holds something else.
        """
        self._put("source", record.source, record.as_json())

    def records(self) -> dict[str, SourceRecord]:
        """All records of this collection, by source id."""
        return self._reader.records(self._collection)

    def forget(self, source: str) -> None:
        """Removes the record of a source whose passages are all gone."""
        with mapped_errors("write the ledger"):
            self._objects.data.delete_by_id(record_id("source", self._collection, source))

    def put_meta(self, meta: CollectionMeta) -> None:
        """What the collection was made with."""
        self.put_document("meta", meta.as_json())

    def meta(self) -> CollectionMeta | None:
        """What the collection was made with, None while it was never said."""
        payload = self.document("meta")
        return CollectionMeta.from_json(payload) if payload else None

    def document(self, kind: str, key: str = "") -> str | None:
        """A document, None when there is none."""
        return self._payload(record_id(kind, self._collection, *_key(key)))

    def documents(self, kind: str) -> dict[str, str]:
        """All documents of a kind, by key."""
        return self._reader.documents(kind, self._collection)

    def put_document(self, kind: str, payload: str, key: str = "") -> None:
        """Stores a document, acknowledged by reading it back."""
        self._put(kind, key, payload)

    def forget_document(self, kind: str, key: str = "") -> None:
        """Removes a document; fine if there is none."""
        with mapped_errors("write the ledger"):
            self._objects.data.delete_by_id(record_id(kind, self._collection, *_key(key)))

    def _payload(self, identifier: str) -> str | None:
        with mapped_errors("read the ledger"):
            found = self._objects.query.fetch_object_by_id(
                identifier, return_properties=["payload"]
            )
        return str(found.properties["payload"]) if found else None

    def _put(self, kind: str, source: str, payload: str) -> None:
        identifier = record_id(kind, self._collection, *_key(source))
        properties = {
            "kind": kind,
            "collection": self._collection,
            "source": source,
            "payload": payload,
            "updated_at": rfc3339(datetime.now(UTC)),
        }
        from weaviate.classes.data import DataObject

        with mapped_errors("write the ledger"):
            self._objects.data.insert_many([DataObject(uuid=identifier, properties=properties)])
        if self._payload(identifier) != payload:
            raise WritesNotAcknowledged(source or kind, "records", planned=1, acknowledged=0)


def _key(key: str) -> tuple[str, ...]:
    return (key,) if key else ()
