"""Documents of sources and doctor; docs/cli.md describes every field. Pure."""

from typing import Any

from search.diagnosis import Diagnosis, Listing
from search.documents import standing_document, time_document
from search.ledger import Journal, RepoCursor, RoomCursor, SourceRecord
from search.requests import UNAVAILABLE, exit_code
from search.sources import Source
from search.vouching import why_unavailable

Document = dict[str, Any]


def sources_document(listing: Listing) -> Document:
    """The fields of a ``sources``."""
    return {
        "exit": exit_code(found=bool(listing.sources), unavailable=bool(listing.unavailable)),
        "sources": [source_document(source) for source in listing.sources],
        **standing_document(
            listing.unavailable,
            {s.id: s.record.last_success if s.record else None for s in listing.sources},
        ),
    }


def doctor_document(diagnosis: Diagnosis) -> Document:
    """The fields of a ``doctor``."""
    meta = diagnosis.meta
    return {
        "exit": 0 if diagnosis.is_well else UNAVAILABLE,
        "problems": list(diagnosis.problems),
        "server": {"ready": diagnosis.server is not None, "version": diagnosis.server},
        "collection": {
            "alias": diagnosis.alias,
            "name": diagnosis.collection,
            "schema": meta.schema_version if meta else None,
            "analysis": meta.analysis_version if meta else None,
        },
        "model": {
            "configured": diagnosis.configured_model,
            "name": meta.embedder if meta else None,
            "digest": meta.embedder_digest if meta else None,
            "dimensions": meta.dimensions if meta else None,
        },
        "sources": [
            {
                **source_document(source),
                "passages": diagnosis.counted.get(source.id, 0),
                **_progress(source.record or SourceRecord(source.id)),
            }
            for source in diagnosis.listing.sources
        ],
        "journal": _journal(diagnosis.journal) if diagnosis.journal else None,
        "unavailable": [
            {"source": source, "reason": reason}
            for source, reason in diagnosis.listing.unavailable.items()
        ],
    }


def source_document(source: Source) -> Document:
    """One source: what it may be named by, what is held of it, why it cannot be vouched for."""
    record = source.record or SourceRecord(source.id)
    return {
        "source": source.id,
        "corpus": source.corpus,
        "name": source.name,
        "label": source.label,
        "names": list(source.names),
        "state": record.state,
        "passages": record.passages,
        "fresh_at": time_document(record.last_success),
        "covered_since": record.room.covered or None,
        "reason": why_unavailable(source.record),
    }


def _progress(record: SourceRecord) -> Document:
    """How far its runs came, without the tokens of the homeserver."""
    place: RepoCursor | RoomCursor = record.place
    if isinstance(place, RoomCursor):
        cursor: Document = {"event": place.event or None, "rules": place.version or None}
        cursor |= {"phase": place.phase}
    else:
        phase = place.position.phase if place.position else None
        cursor = {"commit": place.commit, "rules": place.rules or None, "phase": phase}
    return {
        "identity": record.identity or None,
        "cursor": cursor,
        "last_attempt": time_document(record.last_attempt),
        "read": dict(sorted(record.read.items())),
    }


def _journal(journal: Journal) -> Document:
    return {
        "at": time_document(journal.at),
        "admitted": sum(entry.admitted for entry in journal.entries),
        "refused": [
            {"room": entry.room, "alias": entry.alias or None, "reason": entry.reason}
            for entry in journal.entries
            if not entry.admitted
        ],
    }
