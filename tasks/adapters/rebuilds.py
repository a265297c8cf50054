"""What a rebuild does in Weaviate: its note, the new collection, the alias, the old one's end."""

from typing import TYPE_CHECKING

from search.collection import CollectionMeta, ledger_name
from search.connection import mapped_errors
from search.ledger import record_id
from search.reader import Reader
from tasks.adapters.collections import make
from tasks.adapters.ledger import WeaviateLedger
from tasks.domain.rebuilds import KIND, Rebuild

if TYPE_CHECKING:
    from weaviate import WeaviateClient


class Rebuilds:
    """The one rebuild behind an alias, if there is one."""

    def __init__(self, client: "WeaviateClient", alias: str) -> None:
        """``client`` stays the caller's to close."""
        self._client, self._alias = client, alias
        self._ledger = WeaviateLedger(client, alias, alias)

    def note(self) -> Rebuild | None:
        """The rebuild that was begun and is not over."""
        payload = self._ledger.document(KIND)
        return Rebuild.from_json(payload) if payload else None

    def begin(self, rebuild: Rebuild, meta: CollectionMeta) -> None:
        """Notes it, then makes its collection; said again after a crash it goes on."""
        self._ledger.put_document(KIND, rebuild.as_json())
        with mapped_errors("make the collection"):
            exists = self._client.collections.exists(rebuild.collection)
            if exists and self.meta(rebuild.collection) is None:  # killed while it was made
                self._client.collections.delete(rebuild.collection)
                exists = False
            if not exists:
                make(self._client, self._alias, rebuild.collection, meta)

    def meta(self, collection: str) -> CollectionMeta | None:
        """What a collection was made with, None for one that is not whole."""
        return WeaviateLedger(self._client, self._alias, collection).meta()

    def flip(self, rebuild: Rebuild) -> None:
        """From now on look-ups see the new collection."""
        with mapped_errors("move the alias"):
            self._client.alias.update(
                alias_name=self._alias, new_target_collection=rebuild.collection
            )

    def end(self, dropped: str) -> None:
        """Drops a collection with all that the ledger has of it, the note last."""
        with mapped_errors("drop the old collection"):
            self._client.collections.delete(dropped)
            ledger = self._client.collections.get(ledger_name(self._alias))
            for kind, key in Reader(self._client, self._alias).entries(dropped):
                ledger.data.delete_by_id(record_id(kind, dropped, key))
        self._ledger.forget_document(KIND)
