"""What the ledger keeps of chat beside the rooms' own records: reader, journal, purges."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from search.ledger import Journal, JournalEntry, ReaderRecord
from tasks.domain.purges import Purge
from tasks.ports import Ledger


def reader_of(ledger: Ledger) -> ReaderRecord:
    """Whose rooms these are; an empty one before the first run."""
    payload = ledger.document("reader")
    return ReaderRecord.from_json(payload) if payload else ReaderRecord()


def put_reader(ledger: Ledger, reader: ReaderRecord) -> None:
    """Stores it."""
    ledger.put_document("reader", reader.as_json())


def journal_of(ledger: Ledger) -> Journal | None:
    """The last run's journal, None before the first."""
    payload = ledger.document("journal")
    return Journal.from_json(payload) if payload else None


def put_journal(ledger: Ledger, journal: Journal) -> None:
    """Stores it in the place of the one before."""
    ledger.put_document("journal", journal.as_json())


def note_refused(
    ledger: Ledger, room: str, reason: str, rules: str, *, lasting: bool = False
) -> None:
    """Puts into the last run's journal that the room was let in by it, and then kept out.

    By the same ``rules`` it is not read again, ``lasting`` or until there is news of it.
    """
    journal = journal_of(ledger)
    if journal is None:
        return
    refused = JournalEntry(room, "", admitted=False, reason=reason, rules=rules, lasting=lasting)
    others = [each for each in journal.entries if each.room != room]
    entries = sorted([*others, refused], key=lambda each: each.room)
    put_journal(ledger, replace(journal, entries=tuple(entries)))


def purges_of(ledger: Ledger) -> list[Purge]:
    """All tombstones, by id."""
    found = ledger.documents("purge")
    return [Purge.from_json(found[key]) for key in sorted(found)]


def put_purge(ledger: Ledger, purge: Purge) -> None:
    """Stores a tombstone."""
    ledger.put_document("purge", purge.as_json(), purge.source)


def forget_purge(ledger: Ledger, purge: Purge) -> None:
    """Removes a tombstone: what it covered may come back."""
    ledger.forget_document("purge", purge.source)


def mark_applied(ledger: Ledger, ids: Iterable[str]) -> None:
    """Notes that what these purges cover is no longer held."""
    wanted = set(ids)
    for purge in purges_of(ledger):
        if purge.id in wanted:
            put_purge(ledger, replace(purge, applied=datetime.now(UTC).isoformat()))
