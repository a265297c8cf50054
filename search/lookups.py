"""Looking up by words, and what every look-up starts from (spec 2.5, 6.2, 6.5).

Clients are passed in, plain data comes out. The other look-ups stand in modules of their names.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from search.candidates import Candidate
from search.collection import CollectionMeta
from search.embedding import Embedder
from search.errors import CollectionMismatch, CollectionMissing, HuginnError, UsageError
from search.hits import Hit, hits_of
from search.ledger import SourceRecord
from search.query import Query
from search.reader import Reader, Resolved
from search.scope import Scope
from search.selection import selection
from search.settings import Settings
from search.sources import Asked, asked, listed
from search.vouching import unavailable

T = TypeVar("T")

AT_ONCE = 4
"""Texts that are asked at the same time: the server is no quicker with more."""

_WHAT = {
    "chat": "no room is listed: let the reader join one, then run `huginn refresh`",
    "forge": "no repository is listed: `huginn sources add` lists one",
    None: "no source is listed: `huginn sources add` lists one",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a look-up gives; ``unavailable``: the sources not vouched for, and why.

    ``looked_in`` are the sources asked, with when each was last brought up to date.
    """

    query: Query
    hits: tuple[Hit, ...]
    unavailable: Mapping[str, str] = field(default_factory=dict)
    clipped: tuple[str, ...] = ()
    looked_in: Mapping[str, datetime | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ground:
    """What a look-up stands on: the collection of now, the sources asked, who is unavailable."""

    resolved: Resolved | None
    asked: Asked
    unavailable: Mapping[str, str]

    @property
    def looked_in(self) -> dict[str, datetime | None]:
        """The last full success of each source asked."""
        return {
            source: record.last_success if record else None
            for source, record in self.asked.records.items()
        }


def search(
    query: Query,
    *,
    reader: Reader,
    settings: Settings,
    embedder: Callable[[str], Embedder],
    now: datetime | None = None,
) -> Answer:
    """Hits for ``query``: every text asked as one hybrid query, the rankings fused (spec 6.2).

    ``embedder`` gives the embedder for a model's name. Unknown sources are refused before
    anything is embedded.
    """
    moment = now or datetime.now(UTC)

    def look(ground: Ground) -> Answer:
        if ground.resolved is None or not ground.asked.sources:
            return Answer(query, (), ground.unavailable)
        model = model_of(ground.resolved.meta, settings, embedder)
        limit = model.identity.token_limit
        clipped = tuple(text for text in query.texts if model.count_tokens(text) > limit)
        vectors = model.embed(query.texts, "query")
        chosen = selection(query.scope, ground.asked.sources)
        name = ground.resolved.name
        several = len(query.texts) > 1  # which find the same passages: what is shown is read once

        def ask(text: str, vector: Sequence[float]) -> list[Candidate]:
            return reader.hybrid(name, text, vector, chosen, whole=not several)

        def read(ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
            found = reader.passages(name).by_ids(ids)
            return {identifier: stored.properties for identifier, stored in found.items()}

        rankings = _together(ask, query.texts, vectors)
        hits = hits_of(query, rankings, ground.asked.sources, moment, read if several else None)
        return Answer(query, hits, ground.unavailable, clipped, ground.looked_in)

    return on_ground(query.scope, reader, settings, look)


def on_ground(scope: Scope, reader: Reader, settings: Settings, look: Callable[[Ground], T]) -> T:
    """What ``look`` gives for the collection that the alias points at now.

    Done once more if a rebuild put another in its place meanwhile (spec 2.5). Before the first
    refresh, or when nothing is listed, ``look`` gets a ground with the reason as unavailable.

    Raises:
        UsageError: the scope names what is not known.
    """
    try:
        resolved, records = reader.standing()
    except CollectionMissing as error:
        return look(Ground(None, Asked(), {"*": str(error)}))
    try:
        return look(_ground(scope, settings, resolved, records))
    except UsageError:
        raise
    except HuginnError:
        again, records = reader.standing()
        if again.name == resolved.name:
            raise
        return look(_ground(scope, settings, again, records))


def _ground(
    scope: Scope, settings: Settings, resolved: Resolved, records: Mapping[str, SourceRecord]
) -> Ground:
    known = listed(records, settings.repositories, has_list=settings.has_list)
    chosen = asked(scope, known)
    if not chosen.sources:
        return Ground(resolved, chosen, {"*": _WHAT[scope.corpus]})
    return Ground(resolved, chosen, unavailable(chosen.records))


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
        "Install the model it was made with, or run `huginn refresh`: it rebuilds the collection "
        "with the model of the settings."
    )


def _together(
    ask: Callable[[str, Sequence[float]], list[Candidate]],
    texts: Sequence[str],
    vectors: Sequence[Sequence[float]],
) -> list[list[Candidate]]:
    """The ranking of each text, in the order of the texts."""
    if len(texts) == 1:
        return [ask(texts[0], vectors[0])]
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        return list(pool.map(ask, texts, vectors))
