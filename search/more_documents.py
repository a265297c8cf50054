"""Documents of recent, thread, get and themes; docs/cli.md describes every field. Pure."""

from collections.abc import Mapping
from typing import Any

from search.conversation import Message
from search.documents import (
    citation_document,
    passage_document,
    standing_document,
    time_document,
    turn_document,
)
from search.hits import status_of
from search.ledger import SourceRecord
from search.matrix_links import event_link, server_of
from search.neighbours import Got
from search.recent import Entry, Recent
from search.requests import exit_code
from search.themes import Theme, Themes
from search.threads import Conversation, Found

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
