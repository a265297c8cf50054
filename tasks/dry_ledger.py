"""A ledger that nothing is written to: what is put is its own, and gone with it."""

from search.ledger import SourceRecord
from tasks.ports import Ledger


class DryLedger:
    """The port ``Ledger`` over another one, which is only read, or over none."""

    def __init__(self, base: Ledger | None = None) -> None:
        self._base = base
        self._records: dict[str, SourceRecord | None] = {}
        self._documents: dict[tuple[str, str], str | None] = {}

    def record(self, source: str) -> SourceRecord:
        """See ``Ledger``."""
        if source in self._records:
            return self._records[source] or SourceRecord(source)
        return self._base.record(source) if self._base else SourceRecord(source)

    def put(self, record: SourceRecord) -> None:
        """See ``Ledger``."""
        self._records[record.source] = record

    def records(self) -> dict[str, SourceRecord]:
        """See ``Ledger``."""
        all_of_them = (self._base.records() if self._base else {}) | self._records
        return {source: record for source, record in all_of_them.items() if record is not None}

    def forget(self, source: str) -> None:
        """See ``Ledger``."""
        self._records[source] = None

    def document(self, kind: str, key: str = "") -> str | None:
        """See ``Ledger``."""
        if (kind, key) in self._documents:
            return self._documents[kind, key]
        return self._base.document(kind, key) if self._base else None

    def documents(self, kind: str) -> dict[str, str]:
        """See ``Ledger``."""
        own = {key: text for (each, key), text in self._documents.items() if each == kind}
        found = (self._base.documents(kind) if self._base else {}) | own
        return {key: text for key, text in found.items() if text is not None}

    def put_document(self, kind: str, payload: str, key: str = "") -> None:
        """See ``Ledger``."""
        self._documents[kind, key] = payload

    def forget_document(self, kind: str, key: str = "") -> None:
        """See ``Ledger``."""
        self._documents[kind, key] = None
