"""The port ``Ledger`` in memory, with what a chain needs to know of one source to begin with."""

from collections.abc import Mapping

from search.ledger import SourceRecord


class RecordingLedger:
    """``record`` is the source's; ``documents`` are by kind and key. Nobody else sees a change."""

    def __init__(self, record: SourceRecord, documents: Mapping[tuple[str, str], str]) -> None:
        self._records = {record.source: record}
        self._documents = dict(documents)

    def record(self, source: str) -> SourceRecord:
        """See ``Ledger``."""
        return self._records.get(source) or SourceRecord(source)

    def put(self, record: SourceRecord) -> None:
        """See ``Ledger``."""
        self._records[record.source] = record

    def records(self) -> dict[str, SourceRecord]:
        """See ``Ledger``."""
        return dict(self._records)

    def forget(self, source: str) -> None:
        """See ``Ledger``."""
        self._records.pop(source, None)

    def document(self, kind: str, key: str = "") -> str | None:
        """See ``Ledger``."""
        return self._documents.get((kind, key))

    def documents(self, kind: str) -> dict[str, str]:
        """See ``Ledger``."""
        return {key: text for (each, key), text in self._documents.items() if each == kind}

    def put_document(self, kind: str, payload: str, key: str = "") -> None:
        """See ``Ledger``."""
        self._documents[kind, key] = payload

    def forget_document(self, kind: str, key: str = "") -> None:
        """See ``Ledger``."""
        self._documents.pop((kind, key), None)
