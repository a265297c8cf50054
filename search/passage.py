"""A passage: the unit that is stored, embedded, found and cited (spec 2.4, 4.4, 5.3)."""

import hashlib
import json
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Corpus = Literal["chat", "forge"]
Kind = Literal["window", "file", "commit"]

_NAMESPACE = uuid.UUID("6b1f3c56-5a0e-5d0e-9d0a-2f6a7c1f9b11")


def passage_id(*key: str | int) -> str:
    """The id of a passage: uuid5 over the JSON list of its key, never of its text (spec 2.4).

    Keys are ``"chat", room, thread or "", first event, part``, ``"file", repo, path, part`` and
    ``"commit", repo, sha, part``.
    """
    return str(uuid.uuid5(_NAMESPACE, json.dumps(key, separators=(",", ":"))))


def slot_of(identifier: str) -> int:
    """The first 32 bits of an id: spreads a source's passages evenly for listing in ranges."""
    return uuid.UUID(identifier).int >> 96


def digest_of(*texts: str) -> str:
    """SHA-256 (hex) over the texts in order: equal texts are found by it and embedded once."""
    return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Where a text stands in its blob: 1-based lines, both inclusive.

    ``columns`` is set only when a single line had to be cut: 0-based character range within it.
    """

    first: int
    last: int
    columns: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a window as it is shown: scrubbed ``body``, UTC time, in force after ``edit``.

    ``edit`` is the event id of the edit whose text this is, "" for the original's own. ``reply_to``
    is the event that it answers, "". A message too long for one window is cut: each window then
    holds a turn with its piece of the body.
    """

    event: str
    sender: str
    at: datetime
    body: str
    edit: str = ""
    reply_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One passage of either corpus, before it has vectors.

    ``text`` is what is shown. ``window`` is embedded as the passage's own vector, ``parts`` as its
    multi-vector, one vector each, in order; both are always filled (decision 0001). ``keywords``
    is the analysed text of the keyword side. ``trail`` holds the headings or symbols above the
    text. ``rules`` names the version of the rules that made it. Times are UTC.

    A window of chat has ``turns``, in order (spec 4.3, 4.4); ``thread`` is the root's event id, ""
    in the main timeline; ``segment`` is the first event id of its segment.
    """

    id: str
    corpus: Corpus
    source: str
    kind: Kind
    part: int
    text: str
    window: str
    parts: tuple[str, ...]
    keywords: str
    rules: str
    trail: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    start: datetime | None = None
    end: datetime | None = None
    path: str = ""
    blob: str = ""
    lines: Lines | None = None
    commit: str = ""
    thread: str = ""
    segment: str = ""
    turns: tuple[Turn, ...] = ()
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest_of(self.window, *self.parts))
