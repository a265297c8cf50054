"""Fakes of our own ports and seams. They record facts (what is held), not calls.

The store's fake can go wrong in the ways that the real one was seen to: it loses a passage without
a word, or keeps one that it was told to delete.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from search.candidates import Candidate
from search.collection import CollectionMeta, fingerprint_of, properties_of
from search.embedding import Embedder, EmbedderIdentity, Side, Vector
from search.errors import CollectionMissing
from search.ledger import RepoCursor, SourceRecord
from search.passage import Lines, Passage, passage_id
from search.passages import COMPARED, Stored, StoredPassages
from search.reader import Reader, Resolved
from search.selection import Selection
from search.settings import EmbedderSettings
from tasks.ports import Chunk, Scrubbed, StoredPassage, Vectors

IDENTITY = EmbedderIdentity("fake-model", "digest-of-weights", 4, 16)
INGESTED = datetime(2026, 1, 1, tzinfo=UTC)
META = CollectionMeta(IDENTITY.name, IDENTITY.digest, IDENTITY.dimensions)


def file_passage(text: str, path: str = "a.md", *, repo: str = "one", part: int = 0) -> Passage:
    """A file's passage with nothing special about it."""
    return Passage(
        id=passage_id("file", repo, path, part),
        corpus="forge",
        source=f"repo:{repo}",
        kind="file",
        part=part,
        text=text,
        window=text,
        parts=(text,),
        keywords=text.lower(),
        rules="r1",
        path=path,
        blob=hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
        lines=Lines(first=1, last=1),
    )


def vectors_for(text: str) -> Vectors:
    """What the fake embedder makes of a passage of one part."""
    vector = vector_of(text)
    return Vectors(vector, [vector])


def vector_of(text: str) -> Vector:
    """A vector that tells its text: no two texts of a test share one."""
    digest = hashlib.sha256(text.encode()).digest()
    return [byte / 255 for byte in digest[: IDENTITY.dimensions]]


@dataclass
class FakePassageWriter:
    """The port ``PassageWriter`` in memory.

    ``losing`` are ids that the store drops in silence, ``keeping`` ids that it does not delete.
    """

    held: dict[str, tuple[Passage, Vectors]] = field(default_factory=dict)
    losing: set[str] = field(default_factory=set)
    keeping: set[str] = field(default_factory=set)
    times: dict[str, datetime] = field(default_factory=dict)
    """When each passage was written last, by ``now``, this machine's clock."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def stored(
        self,
        source: str,
        *,
        paths: Sequence[str] | None = None,
        commits: Sequence[str] | None = None,
    ) -> Iterator[StoredPassage]:
        for passage, _ in [*self.held.values()]:
            everything = paths is None and commits is None
            asked = passage.path in (paths or ()) or passage.commit in (commits or ())
            if passage.source == source and (everything or asked):
                yield StoredPassage(
                    id=passage.id,
                    kind=passage.kind,
                    fingerprint=fingerprint_of(passage),
                    rules=passage.rules,
                    path=passage.path,
                    blob=passage.blob,
                    commit=passage.commit,
                )

    def vectors(self, digests: Sequence[str]) -> dict[str, Vectors]:
        return {
            passage.digest: vectors
            for passage, vectors in self.held.values()
            if passage.digest in digests
        }

    def write(self, passages: Iterable[tuple[Passage, Vectors]]) -> set[str]:
        written = set()
        for passage, vectors in passages:
            if passage.id not in self.losing:
                self.held[passage.id] = passage, vectors
                self.times[passage.id] = self.now()
                written.add(passage.id)
        return written

    def delete(self, ids: Sequence[str]) -> set[str]:
        for identifier in ids:
            if identifier not in self.keeping:
                self.held.pop(identifier, None)
        return {identifier for identifier in ids if identifier not in self.held}

    def expunge(self, ids: Sequence[str]) -> None:
        for identifier in ids:
            self.held.pop(identifier, None)

    def count(self, source: str) -> int:
        return sum(passage.source == source for passage, _ in self.held.values())


@dataclass
class FakeLedger:
    """The port ``Ledger``; it keeps what the real one keeps: each record's JSON."""

    payloads: dict[str, str] = field(default_factory=dict)
    kept: dict[tuple[str, str], str] = field(default_factory=dict)

    def record(self, source: str) -> SourceRecord:
        payload = self.payloads.get(source)
        return SourceRecord.from_json(payload) if payload else SourceRecord(source)

    def put(self, record: SourceRecord) -> None:
        self.payloads[record.source] = record.as_json()

    def records(self) -> dict[str, SourceRecord]:
        return {source: self.record(source) for source in sorted(self.payloads)}

    def forget(self, source: str) -> None:
        self.payloads.pop(source, None)

    def document(self, kind: str, key: str = "") -> str | None:
        return self.kept.get((kind, key))

    def documents(self, kind: str) -> dict[str, str]:
        return {key: text for (each, key), text in self.kept.items() if each == kind}

    def put_document(self, kind: str, payload: str, key: str = "") -> None:
        self.kept[kind, key] = payload

    def forget_document(self, kind: str, key: str = "") -> None:
        self.kept.pop((kind, key), None)


class FakeChunker:
    """The port ``Chunker``: a chunk for each paragraph, headed by the file's own first line."""

    def chunks(self, path: str, text: str) -> list[Chunk]:
        made = []
        line = 1
        for paragraph in text.split("\n\n"):
            last = line + paragraph.count("\n")
            if paragraph.strip():
                trail = (path,) if path else ()
                made.append(Chunk(paragraph, trail, Lines(first=line, last=last)))
            line = last + 2
        return made


@dataclass
class FakeScrubber:
    """The port ``Scrubber``: takes out the words it was told of."""

    secrets: Mapping[str, str] = field(default_factory=dict)
    version: str = "fake-1"

    def scrub(self, texts: Sequence[str]) -> list[Scrubbed]:
        return [self._scrubbed(text) for text in texts]

    def scrub_together(self, texts: Sequence[str]) -> list[Scrubbed]:
        """A secret of several lines is one that came in so many texts, each with its line."""
        found = [text.text for text in self.scrub(texts)]
        for secret, rule in self.secrets.items():
            lines = secret.split("\n")
            for first in range(len(texts) - len(lines) + 1 if len(lines) > 1 else 0):
                places = range(first, first + len(lines))
                if all(line in found[place] for place, line in zip(places, lines, strict=True)):
                    for place, line in zip(places, lines, strict=True):
                        found[place] = found[place].replace(line, f"[scrubbed:{rule}]")
        return [
            Scrubbed(text, self._scrubbed(before).counts)
            for text, before in zip(found, texts, strict=True)
        ]

    def _scrubbed(self, text: str) -> Scrubbed:
        counts = []
        for secret, rule in self.secrets.items():
            if found := text.count(secret):
                text = text.replace(secret, f"[scrubbed:{rule}]")
                counts.append((rule, found))
        return Scrubbed(text, tuple(counts))


class FakeEmbedder(Embedder):
    """No model: a vector per text, and every text that was embedded, in order."""

    def __init__(self, identity: EmbedderIdentity = IDENTITY) -> None:
        super().__init__(EmbedderSettings(model=identity.name))
        self._fake_identity = identity
        self.texts: list[str] = []
        self.sides: list[Side] = []

    def embed(self, texts: Sequence[str], side: Side) -> list[Vector]:
        self.texts += texts
        self.sides += [side] * len(texts)
        self.embedded += len(texts)
        return [vector_of(text) for text in texts]

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2

    @property
    def identity(self) -> EmbedderIdentity:
        return self._fake_identity


@dataclass
class FakeReader(Reader):
    """The read side over plain data: rankings by text, records by source.

    Like the server it filters inside the query. ``asked`` holds what was looked for, in order.
    """

    rankings: Mapping[str, Sequence[Candidate]] = field(default_factory=dict)
    known: Mapping[str, SourceRecord] = field(default_factory=dict)
    meta: CollectionMeta | None = META
    asked: list[str] = field(default_factory=list)
    selections: list[Selection] = field(default_factory=list)

    def resolve(self) -> Resolved:
        if self.meta is None:
            raise CollectionMissing("Nothing was ingested yet. Run `huginn refresh` first.")
        return Resolved("Test_1", self.meta)

    def standing(self) -> tuple[Resolved, dict[str, SourceRecord]]:
        resolved = self.resolve()
        return resolved, self.records(resolved.name)

    def records(self, collection: str) -> dict[str, SourceRecord]:
        assert collection == "Test_1"
        return dict(self.known)

    def hybrid(
        self,
        collection: str,
        text: str,
        vector: Sequence[float],
        selection: Selection,
        *,
        whole: bool = True,
    ) -> list[Candidate]:
        assert collection == "Test_1"
        assert list(vector) == vector_of(text)
        self.asked.append(text)
        self.selections.append(selection)
        found = self.rankings.get(text, ())
        chosen = selection.sources
        candidates = [c for c in found if c.properties["source"] in chosen]
        return candidates if whole else [replace(c, properties=_compared(c)) for c in candidates]

    def passages(self, collection: str) -> StoredPassages:
        assert collection == "Test_1"
        return _Held({c.id: c for ranking in self.rankings.values() for c in ranking})


class _Held(StoredPassages):
    def __init__(self, held: Mapping[str, Candidate]) -> None:
        self._held = held

    def by_ids(self, ids: Sequence[str]) -> dict[str, Stored]:
        return {each: Stored(each, self._held[each].properties) for each in ids}


def _compared(found: Candidate) -> dict[str, Any]:
    return {name: found.properties[name] for name in COMPARED}


def candidate(passage: Passage, score: float = 0.5, **changes: Any) -> Candidate:
    """A passage as the server would give it back."""
    empty = {"start": None, "end": None, "first_line": None, "last_line": None, "columns": None}
    empty |= {"ingested_at": INGESTED}
    properties = empty | properties_of(passage) | changes
    return Candidate(passage.id, score, keyword=1.5, vector=0.25, properties=properties)


def current(source: str, commit: str = "c" * 40, **changes: Any) -> SourceRecord:
    """The record of a source whose last run went well."""
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    known: dict[str, Any] = {
        "state": "current",
        "cursor": RepoCursor(commit=commit),
        "last_attempt": moment,
        "last_success": moment,
    }
    return SourceRecord(source, **known | changes)
