"""Where a stored passage stands, put exactly (spec 4.4, 5.3, 6.4). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from search.collection import lines_of, turns_of
from search.ledger import SourceRecord
from search.matrix_links import event_link, server_of
from search.passage import Lines
from search.permalinks import commit_link, permalink
from search.sources import Source


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in a repository: its commit, and for a file its blob, path and lines."""

    repository: str
    commit: str | None
    path: str | None = None
    blob: str | None = None
    lines: Lines | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class RoomCitation:
    """A place in a room: ``thread`` is the root's event id, None in the main timeline.

    ``link`` leads to the first event, by the homeserver of the reader.
    """

    room: str
    alias: str | None
    thread: str | None
    first: str
    last: str
    link: str


def citation_of(properties: Mapping[str, Any], source: Source) -> Citation | RoomCitation:
    """Where the passage with these stored properties stands."""
    record = source.record or SourceRecord(source.id)
    if properties["kind"] == "window":
        events = [turn.event for turn in turns_of(properties)]
        return room_citation(source, properties["thread"], events[0], events[-1])
    if properties["kind"] == "commit":
        link = commit_link(record.identity, properties["commit"])
        return Citation(source.place, properties["commit"], link=link)
    commit = record.commit_of(properties["ingested_at"])
    lines = lines_of(properties)
    link = None
    if commit and lines:
        link = permalink(record.identity, commit, properties["path"], lines.first, lines.last)
    return Citation(source.place, commit, properties["path"], properties["blob"], lines, link)


def room_citation(source: Source, thread: str, first: str, last: str) -> RoomCitation:
    """The place from one event of a room to another."""
    record = source.record or SourceRecord(source.id)
    server = server_of(record.identity)
    link = event_link(source.place, first, server)
    return RoomCitation(source.place, record.alias or None, thread or None, first, last, link)
