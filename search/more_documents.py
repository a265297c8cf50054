"""Documents of the look-ups other than ``search``; docs/cli.md describes every field. Pure."""

from collections.abc import Mapping
from typing import Any

from search.conversation import Message
from search.diagnosis import Diagnosis, Listing
from search.documents import (
    citation_document,
    passage_document,
    standing_document,
    time_document,
    turn_document,
)
from search.hits import status_of
from search.ledger import Journal, RepoCursor, RoomCursor, SourceRecord
from search.matrix_links import event_link, server_of
from search.neighbours import Got
from search.recent import Entry, Recent
from search.requests import UNAVAILABLE, exit_code
from search.sources import Source
from search.themes import Theme, Themes
from search.threads import Conversation, Found
from search.vouching import why_unavailable

Document = dict[str, Any]


def recent_document(recent: Recent) -> Document:
    """The fields of a ``recent``."""
    return {
        "exit": exit_code(found=bool(recent.entries), unavailable=bool(recent.unavailable)),
        "limit": recent.limit,
        "entries": [_entry(entry) for entry in recent.entries],
        **standing_document(recent.unavailable, recent.looked_in),
    }


def thread_document(found: Found) -> Document:
    """The fields of a ``thread``."""
    return {
        "exit": exit_code(found=bool(found.conversation), unavailable=bool(found.unavailable)),
        "id": found.id,
        "conversation": _conversation(found.conversation) if found.conversation else None,
        **standing_document(found.unavailable, found.looked_in),
    }


def get_document(got: Got) -> Document:
    """The fields of a ``get``."""
    return {
        "exit": exit_code(found=bool(got.passage), unavailable=bool(got.unavailable)),
        "id": got.id,
        "passage": passage_document(got.passage) if got.passage else None,
        "before": [passage_document(passage) for passage in got.before],
        "after": [passage_document(passage) for passage in got.after],
        **standing_document(got.unavailable, got.looked_in),
    }


def themes_document(themes: Themes) -> Document:
    """The fields of a ``themes``."""
    return {
        "exit": exit_code(found=bool(themes.themes), unavailable=bool(themes.unavailable)),
        "total": themes.total,
        "sampled": themes.sampled,
        "themes": [_theme(theme) for theme in themes.themes],
        **standing_document(themes.unavailable, themes.looked_in),
    }


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


def _entry(entry: Entry) -> Document:
    source = entry.source
    return {
        "id": entry.id,
        "corpus": source.corpus,
        "source": source.id,
        "kind": entry.kind,
        "name": source.name,
        "label": source.label,
        "author": entry.author,
        "vouched_by": entry.vouched_by,
        "at": time_document(entry.at),
        "text": entry.text,
        "bytes": len(entry.text.encode()),
        "event": entry.event,
        "reply_to": entry.reply_to,
        "citation": citation_document(entry.citation),
        "also": [citation_document(place) for place in entry.also],
        "status": entry.status,
        "fresh_at": time_document(source.record.last_success if source.record else None),
    }


def _conversation(conversation: Conversation) -> Document:
    source = conversation.source
    record = source.record or SourceRecord(source.id)
    messages = [message for _, message in conversation.turns]
    server = server_of(record.identity)
    return {
        "kind": "thread" if conversation.root else "session",
        "source": source.id,
        "name": source.name,
        "label": source.label,
        "room": source.place,
        "alias": record.alias or None,
        "thread": conversation.root,
        "asked": conversation.asked,
        "vouched_by": server,
        "start": time_document(messages[0].turn.at),
        "end": time_document(messages[-1].turn.at),
        "turns": [_turn(each, number, server) for number, each in conversation.turns],
        "more_before": conversation.before,
        "more_after": conversation.after,
        "status": status_of(record, [message.turn for message in messages]),
        "fresh_at": time_document(record.last_success),
    }


def _turn(message: Message, number: int, server: str | None) -> Mapping[str, Any]:
    room = message.source.partition(":")[2]
    return {
        **turn_document(message.turn, number),
        "passage": message.passage,
        "link": event_link(room, message.turn.event, server),
    }


def _theme(theme: Theme) -> Document:
    return {
        "terms": list(theme.terms),
        "size": theme.size,
        "sources": [{"source": source, "size": size} for source, size in theme.sources.items()],
        "start": time_document(theme.start),
        "end": time_document(theme.end),
        "typical": [passage_document(passage) for passage in theme.typical],
    }
