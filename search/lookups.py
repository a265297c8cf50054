"""The use cases of the read side: clients are passed in, plain data comes out."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from search.collection import CollectionMeta, lines_of
from search.embedding import Embedder
from search.errors import CollectionMismatch, CollectionMissing, HuginnError, UsageError
from search.fusion import reciprocal_rank_fusion
from search.ledger import SourceRecord
from search.passage import Lines
from search.permalinks import commit_link, permalink
from search.query import Query
from search.reader import Candidate, Reader
from search.settings import Settings

Status = Literal["current", "stale"]

DEAD_AFTER = timedelta(hours=1)
"""A run notes every step; one that noted nothing for so long is taken for dead."""


@dataclass(frozen=True, slots=True)
class Signal:
    """How one text found a hit: ``keyword`` is BM25, ``vector`` nearness, None: not found so."""

    text: str
    rank: int
    score: float
    keyword: float | None
    vector: float | None


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a hit stands: repository, commit, and for a file its blob, path and lines."""

    repository: str
    commit: str | None
    path: str | None = None
    blob: str | None = None
    lines: Lines | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage of the answer (spec 6.4); ``fresh_at`` is its source's last full success."""

    id: str
    rank: int
    score: float
    signals: tuple[Signal, ...]
    corpus: str
    source: str
    kind: str
    label: str | None
    authors: tuple[str, ...]
    vouched_by: str | None
    start: datetime | None
    end: datetime | None
    trail: tuple[str, ...]
    text: str
    citation: Citation
    status: Status
    fresh_at: datetime | None
    also: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a look-up gives; ``unavailable``: the sources not vouched for, and why."""

    query: Query
    hits: tuple[Hit, ...]
    unavailable: Mapping[str, str] = field(default_factory=dict)
    clipped: tuple[str, ...] = ()


def search(
    query: Query, *, reader: Reader, settings: Settings, embedder: Callable[[str], Embedder]
) -> Answer:
    """Hits for ``query``: every text asked as one hybrid query, the rankings fused (spec 6.2).

    ``embedder`` gives the embedder for a model's name. Unknown repositories are refused before
    anything is embedded.
    """
    try:
        resolved = reader.resolve()
    except CollectionMissing as error:
        return Answer(query, (), {"*": str(error)})
    records = reader.records(resolved.name)
    sources = _asked(query, settings, records)
    unavailable = {s: r for s in sources if (r := _why_unavailable(records.get(s)))}
    if not sources:
        what = {"chat": "room", "forge": "repository", None: "source"}[query.corpus]
        return Answer(query, (), {"*": f"no {what} is listed: `huginn sources add` lists one"})
    model = model_of(resolved.meta, settings, embedder)
    limit = model.identity.token_limit
    clipped = tuple(text for text in query.texts if model.count_tokens(text) > limit)
    vectors = model.embed(query.texts, "query")
    rankings = [
        reader.hybrid(resolved.name, text, vector, sources)
        for text, vector in zip(query.texts, vectors, strict=True)
    ]
    return Answer(query, _hits(query, rankings, records), unavailable, clipped)


def model_of(
    meta: CollectionMeta, settings: Settings, embedder: Callable[[str], Embedder]
) -> Embedder:
    """The model that the collection was made with, under whatever name it is known here."""
    for name in dict.fromkeys((settings.embedder.model, meta.embedder)):
        with suppress(HuginnError):
            model = embedder(name)
            if model.identity.digest == meta.embedder_digest:
                return model
    raise CollectionMismatch(
        f"The collection was made with other weights of {meta.embedder}. "
        "Install the model it was made with, or set weaviate.collection to another name."
    )


def _asked(
    query: Query, settings: Settings, records: Mapping[str, SourceRecord]
) -> tuple[str, ...]:
    """The source ids in question: what is listed, or without a list all that the ledger has."""
    own_list = [repository.source for repository in settings.repositories]
    listed = own_list if settings.has_list else list(records)
    known = {source.removeprefix("repo:"): source for source in listed}
    for name in query.repositories:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            fix = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known) or 'none'}."
            raise UsageError("repo", f"{name!r} is no known repository", fix)
    chosen = [known[name] for name in query.repositories] or listed
    prefix = {"chat": "chat:", "forge": "repo:", None: ""}[query.corpus]
    return tuple(source for source in chosen if source.startswith(prefix))


def _why_unavailable(record: SourceRecord | None) -> str | None:
    if record is None or (record.last_success is None and record.state != "failed"):
        return "not ingested yet: run `huginn refresh`"
    if record.state == "failed":
        return f"the last run failed: {record.reason}"
    if record.state == "deleting":
        return "a run that was deleting has not ended: run `huginn refresh`"
    if record.state == "refreshing" and _is_old(record.last_attempt):
        return "its last run has not ended: run `huginn refresh`"
    return None


def _is_old(moment: datetime | None) -> bool:
    return moment is None or datetime.now(UTC) - moment > DEAD_AFTER


def _hits(
    query: Query, rankings: Sequence[Sequence[Candidate]], records: Mapping[str, SourceRecord]
) -> tuple[Hit, ...]:
    fused = reciprocal_rank_fusion([[c.id for c in ranking] for ranking in rankings])
    by_id = {c.id: c for ranking in rankings for c in ranking}
    signals = _signals(query.texts, rankings)
    by_text: dict[str, list[tuple[str, float]]] = {}
    for identifier, score in fused:
        by_text.setdefault(by_id[identifier].properties["text"], []).append((identifier, score))
    hits = []
    for rank, group in enumerate(list(by_text.values())[: query.top_k], start=1):
        identifier, score = group[0]
        others = (by_id[other].properties for other, _ in group[1:])
        hits.append(_hit(by_id[identifier], rank, score, signals[identifier], records, others))
    return tuple(hits)


def _signals(
    texts: Sequence[str], rankings: Sequence[Sequence[Candidate]]
) -> dict[str, tuple[Signal, ...]]:
    signals: dict[str, tuple[Signal, ...]] = {}
    for text, ranking in zip(texts, rankings, strict=True):
        for rank, c in enumerate(ranking, start=1):
            signal = Signal(text, rank, c.score, c.keyword, c.vector)
            signals[c.id] = (*signals.get(c.id, ()), signal)
    return signals


def _hit(
    candidate: Candidate,
    rank: int,
    score: float,
    signals: tuple[Signal, ...],
    records: Mapping[str, SourceRecord],
    others: Iterable[Mapping[str, Any]],
) -> Hit:
    found = candidate.properties
    record = records.get(found["source"]) or SourceRecord(found["source"])
    return Hit(
        id=candidate.id,
        rank=rank,
        score=score,
        signals=signals,
        corpus=found["corpus"],
        source=found["source"],
        kind=found["kind"],
        label=record.label,
        authors=tuple(found["authors"] or ()),
        vouched_by=None,  # git's author fields are anybody's claim (spec 6.4)
        start=found["start"],
        end=found["end"],
        trail=tuple(found["trail"] or ()),
        text=found["text"],
        citation=_citation(found, records),
        status="current" if record.state == "current" else "stale",
        fresh_at=record.last_success,
        also=tuple(_citation(other, records) for other in others),
    )


def _citation(found: Mapping[str, Any], records: Mapping[str, SourceRecord]) -> Citation:
    record = records.get(found["source"]) or SourceRecord(found["source"])
    name = found["source"].removeprefix("repo:")
    if found["kind"] == "commit":
        link = commit_link(record.identity, found["commit"])
        return Citation(name, found["commit"], link=link)
    commit = record.commit_of(found["ingested_at"])
    lines = lines_of(found)
    link = None
    if commit and lines:
        link = permalink(record.identity, commit, found["path"], lines.first, lines.last)
    return Citation(name, commit, found["path"], found["blob"], lines, link)
