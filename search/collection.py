"""What the collections look like, as plain data: names, properties, versions, meta (spec 2.5).

Passages are found through an alias (``Huginn`` by default) that points at one collection; a
rebuild fills another and flips the alias. The ledger is a small second collection beside it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from search.analysis import ANALYSIS_VERSION
from search.ledger import known_fields
from search.passage import Lines, Passage, Turn, slot_of

SCHEMA_VERSION = 2
"""Counts changes of the passages' form. 1: files and commits. 2: windows of chat."""

WINDOW_VECTOR = "window"
PARTS_VECTOR = "parts"

DataType = Literal["text", "text[]", "int", "int[]", "date"]
Index = Literal["none", "exact", "range", "keywords"]


@dataclass(frozen=True, slots=True)
class Property:
    """One declared property and how it is indexed.

    ``exact`` filters by equality on the whole value (FIELD tokenisation, W08), ``range`` by order,
    ``keywords`` is the one property that the keyword side searches, in our own analysis.
    """

    name: str
    type: DataType
    index: Index = "none"


PROPERTIES: tuple[Property, ...] = (
    Property("corpus", "text", "exact"),
    Property("source", "text", "exact"),
    Property("kind", "text", "exact"),
    Property("part", "int"),
    Property("slot", "int", "range"),
    Property("text", "text"),
    Property("trail", "text[]"),
    Property("keywords", "text", "keywords"),
    Property("authors", "text[]", "exact"),
    Property("start", "date", "range"),
    Property("end", "date", "range"),
    Property("path", "text", "exact"),
    Property("blob", "text", "exact"),
    Property("first_line", "int"),
    Property("last_line", "int"),
    Property("columns", "int[]"),
    Property("commit", "text", "exact"),
    Property("thread", "text", "exact"),
    Property("segment", "text", "exact"),
    Property("events", "text[]", "exact"),
    Property("edits", "text[]", "exact"),
    Property("turns", "text"),
    Property("rules", "text"),
    Property("digest", "text", "exact"),
    Property("fingerprint", "text"),
    Property("ingested_at", "date"),
)

LEDGER_PROPERTIES: tuple[Property, ...] = (
    Property("kind", "text", "exact"),
    Property("collection", "text", "exact"),
    Property("source", "text", "exact"),
    Property("payload", "text"),
    Property("updated_at", "date"),
)


@dataclass(frozen=True, slots=True)
class CollectionMeta:
    """What a collection was made with. Another model or version needs another collection."""

    embedder: str
    embedder_digest: str
    dimensions: int
    schema_version: int = SCHEMA_VERSION
    analysis_version: str = ANALYSIS_VERSION

    def as_json(self) -> str:
        """For the ledger."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "CollectionMeta":
        """From the ledger."""
        return cls(**known_fields(cls, json.loads(text)))

    def differences(self, other: "CollectionMeta") -> list[str]:
        """Which fields differ, as ``field: mine, not theirs``; the model's name may differ."""
        mine, theirs = asdict(self), asdict(other)
        return [
            f"{name}: {mine[name]}, not {theirs[name]}"
            for name in mine
            if name != "embedder" and mine[name] != theirs[name]
        ]


def ledger_name(alias: str) -> str:
    """The ledger's collection for the passages behind ``alias``."""
    return f"{alias}Ledger"


def properties_of(passage: Passage) -> dict[str, Any]:
    """The stored properties of a passage, all but the time of ingestion."""
    lines = passage.lines
    properties: dict[str, Any] = {
        "corpus": passage.corpus,
        "source": passage.source,
        "kind": passage.kind,
        "part": passage.part,
        "slot": slot_of(passage.id),
        "text": passage.text,
        "trail": list(passage.trail),
        "keywords": passage.keywords,
        "authors": list(passage.authors),
        "path": passage.path,
        "blob": passage.blob,
        "commit": passage.commit,
        "thread": passage.thread,
        "segment": passage.segment,
        "events": list(dict.fromkeys(turn.event for turn in passage.turns)),
        "edits": list(dict.fromkeys(turn.edit for turn in passage.turns if turn.edit)),
        "turns": turns_as_json(passage.turns),
        "rules": passage.rules,
        "digest": passage.digest,
    }
    if passage.start is not None:
        properties |= {"start": rfc3339(passage.start)}
    if passage.end is not None:
        properties |= {"end": rfc3339(passage.end)}
    if lines is not None:
        properties |= {"first_line": lines.first, "last_line": lines.last}
        properties |= {"columns": list(lines.columns)} if lines.columns else {}
    properties["fingerprint"] = fingerprint_over(properties)
    return properties


def fingerprint_of(passage: Passage) -> str:
    """A digest of all stored properties but the time of ingestion: tells what differs."""
    return str(properties_of(passage)["fingerprint"])


def turns_as_json(turns: Sequence[Turn]) -> str:
    """The turns of a window as they are stored."""
    return json.dumps(
        [asdict(turn) | {"at": rfc3339(turn.at)} for turn in turns], ensure_ascii=False
    )


def turns_of(properties: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The turns of a stored window, in order; none for files and commits."""
    return tuple(
        Turn(**known_fields(Turn, item | {"at": datetime.fromisoformat(item["at"])}))
        for item in json.loads(properties.get("turns") or "[]")
    )


def lines_of(properties: Mapping[str, Any]) -> Lines | None:
    """The line range of a stored passage, None for what is no file."""
    if properties.get("first_line") is None:
        return None
    columns = properties.get("columns") or None
    return Lines(
        first=properties["first_line"],
        last=properties["last_line"],
        columns=(columns[0], columns[1]) if columns else None,
    )


def rfc3339(moment: datetime) -> str:
    """A date as Weaviate takes it. A naive one is refused here rather than stored wrong (W26)."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone")
    return moment.isoformat()


def fingerprint_over(properties: Mapping[str, Any]) -> str:
    """The same over properties as ``properties_of`` gives them, without a fingerprint."""
    return hashlib.sha256(
        json.dumps(properties, sort_keys=True, ensure_ascii=False).encode()
    ).hexdigest()
