"""From rankings to hits: fused, collapsed, cut, each with its signals and place (spec 6.2, 6.4)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from search.candidates import Candidate
from search.citations import Citation, RoomCitation, citation_of
from search.collection import turns_of
from search.fusion import reciprocal_rank_fusion
from search.ledger import SourceRecord
from search.matrix_links import server_of
from search.passage import Turn
from search.query import Query
from search.recency import weighted
from search.sources import Source

Read = Callable[[Sequence[str]], Mapping[str, Mapping[str, Any]]]
Status = Literal["current", "edited", "stale"]


@dataclass(frozen=True, slots=True)
class Signal:
    """How one text found a hit: ``keyword`` is BM25, ``vector`` nearness, None: not found so."""

    text: str
    rank: int
    score: float
    keyword: float | None
    vector: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One passage as it is shown (spec 6.4).

    ``name`` is what people call its source. ``vouched_by`` is the homeserver that vouches for the
    senders; nobody does for git's author fields. ``turns`` are a window's messages, in order.
    ``bytes`` counts the text in UTF-8, of a window the bodies alone. ``fresh_at`` is its source's
    last full success.
    """

    id: str
    corpus: str
    source: str
    kind: str
    name: str
    label: str | None
    authors: tuple[str, ...]
    vouched_by: str | None
    start: datetime | None
    end: datetime | None
    trail: tuple[str, ...]
    text: str
    bytes: int
    turns: tuple[Turn, ...]
    citation: Citation | RoomCitation
    status: Status
    fresh_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Shown):
    """One passage of the answer: its place in the fused order, and where else its text stands."""

    rank: int
    score: float
    signals: tuple[Signal, ...]
    also: tuple[Citation | RoomCitation, ...] = ()


def shown(identifier: str, found: Mapping[str, Any], source: Source) -> Shown:
    """A stored passage, with what the ledger says of its source."""
    return Shown(**_facts(identifier, found, source))


def _facts(identifier: str, found: Mapping[str, Any], source: Source) -> dict[str, Any]:
    record = source.record or SourceRecord(source.id)
    turns = turns_of(found)
    bodies = [turn.body for turn in turns] or [found["text"]]
    return {
        "id": identifier,
        "name": source.name,
        "label": source.label,
        "authors": tuple(found["authors"] or ()),
        "vouched_by": server_of(record.identity) if found["kind"] == "window" else None,
        "trail": tuple(found["trail"] or ()),
        "bytes": sum(len(body.encode()) for body in bodies),
        "turns": turns,
        "citation": citation_of(found, source),
        "status": status_of(record, turns),
        "fresh_at": record.last_success,
        **{name: found[name] for name in ("corpus", "source", "kind", "start", "end", "text")},
    }


def status_of(record: SourceRecord, turns: Iterable[Turn] = ()) -> Status:
    """``stale`` unless the source is as its last run left it; else whether a message was edited."""
    if record.state != "current":
        return "stale"
    return "edited" if any(turn.edit for turn in turns) else "current"


def hits_of(
    query: Query,
    rankings: Sequence[Sequence[Candidate]],
    sources: Mapping[str, Source],
    now: datetime,
    read: Read | None = None,
) -> tuple[Hit, ...]:
    """The answer's hits: what has the same text is one hit, at its best place.

    ``read`` gives the whole properties of passages by id, where the rankings hold only what is
    compared. What was deleted meanwhile is no hit.
    """
    by_id = {c.id: c for ranking in rankings for c in ranking}
    fused = reciprocal_rank_fusion([[c.id for c in ranking] for ranking in rankings])
    if query.half_life:
        ends = {identifier: c.properties["end"] for identifier, c in by_id.items()}
        fused = weighted(fused, ends, query.half_life, now)
    signals = _signals(query.texts, rankings)
    by_text: dict[str, list[tuple[str, float]]] = {}
    for identifier, score in fused:
        by_text.setdefault(by_id[identifier].properties["text"], []).append((identifier, score))
    groups = list(by_text.values())[: query.top_k]
    ids = [identifier for group in groups for identifier, _ in group]
    whole = read(ids) if read else {each: by_id[each].properties for each in ids}
    groups = [there for group in groups if (there := [each for each in group if each[0] in whole])]
    hits = []
    for rank, group in enumerate(groups, start=1):
        identifier, score = group[0]
        found, *others = (whole[each] for each, _ in group)
        also = tuple(citation_of(other, sources[other["source"]]) for other in others)
        facts = _facts(identifier, found, sources[found["source"]])
        hits.append(Hit(**facts, rank=rank, score=score, signals=signals[identifier], also=also))
    return tuple(_by_time(hits) if query.sort == "time" else hits)


def _by_time(hits: Sequence[Hit]) -> list[Hit]:
    """Newest first; what has no time comes last, in the order of rank."""
    dated = [(hit.end, hit) for hit in hits if hit.end]
    newest = sorted(dated, key=lambda item: item[0], reverse=True)
    return [*(hit for _, hit in newest), *(hit for hit in hits if not hit.end)]


def _signals(
    texts: Sequence[str], rankings: Sequence[Sequence[Candidate]]
) -> dict[str, tuple[Signal, ...]]:
    signals: dict[str, tuple[Signal, ...]] = {}
    for text, ranking in zip(texts, rankings, strict=True):
        for rank, c in enumerate(ranking, start=1):
            signal = Signal(text, rank, c.score, c.keyword, c.vector)
            signals[c.id] = (*signals.get(c.id, ()), signal)
    return signals
