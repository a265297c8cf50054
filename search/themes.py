"""What people talk about: groups of passages by meaning, with the terms that tell them apart."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from search.analysis import analyse
from search.hits import Shown, shown
from search.lookups import Ground, on_ground
from search.passages import Sampled
from search.reader import Reader
from search.scope import Scope
from search.selection import selection
from search.settings import Settings
from search.sources import Source

SAMPLE = 2_000
"""At most so many passages are grouped. Of a larger selection, those with the lowest slots: a
slot is a part of the id, so they are as good as drawn at random and the same every time."""

TYPICAL = 3
_PER_THEME = 12
_DEFAULT_MOST = 8


@dataclass(frozen=True, slots=True)
class Theme:
    """One group: ``size`` passages of the sample, by source too; dated ones span start to end."""

    terms: tuple[str, ...]
    size: int
    sources: Mapping[str, int]
    start: datetime | None
    end: datetime | None
    typical: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class Themes:
    """The answer, the largest theme first: ``sampled`` of ``total`` passages were grouped."""

    themes: tuple[Theme, ...] = ()
    total: int = 0
    sampled: int = 0
    unavailable: Mapping[str, str] = field(default_factory=dict)
    looked_in: Mapping[str, datetime | None] = field(default_factory=dict)


def themes(
    scope: Scope, count: int | None, *, reader: Reader, settings: Settings, sample: int = SAMPLE
) -> Themes:
    """At most ``count`` themes of what the scope leaves; None: as many as its size suggests.

    The vectors are those that are stored: nothing is embedded and nothing kept (spec 4.6).

    Raises:
        UsageError: the scope names what is not known.
    """

    def look(ground: Ground) -> Themes:
        if ground.resolved is None or not ground.asked.sources:
            return Themes(unavailable=ground.unavailable)
        chosen = selection(scope, ground.asked.sources)
        total, found = reader.passages(ground.resolved.name).sample(chosen, sample)
        made = _themes(found, count, ground.asked.sources)
        return Themes(made, total, len(found), ground.unavailable, ground.looked_in)

    return on_ground(scope, reader, settings, look)


def _themes(
    found: Sequence[Sampled], count: int | None, sources: Mapping[str, Source]
) -> tuple[Theme, ...]:
    if not found:
        return ()
    from search.clusters import clusters, terms_of

    ordered = sorted(found, key=lambda each: each.stored.id)
    wanted = count or max(1, min(_DEFAULT_MOST, len(ordered) // _PER_THEME))
    groups = [
        [ordered[place] for place in cluster.members]
        for cluster in clusters([each.vector for each in ordered], wanted)
    ]
    terms = terms_of([[each.keywords for each in group] for group in groups], _names(ordered))
    return tuple(_theme(group, words, sources) for group, words in zip(groups, terms, strict=True))


def _names(found: Sequence[Sampled]) -> frozenset[str]:
    """Who spoke is no theme: the terms of the authors' names."""
    authors = {author for each in found for author in each.stored.properties["authors"] or ()}
    return frozenset(term for author in authors for term in analyse(author).split())


def _theme(
    group: Sequence[Sampled], terms: tuple[str, ...], sources: Mapping[str, Source]
) -> Theme:
    properties = [each.stored.properties for each in group]
    first = {
        found["text"]: each for found, each in reversed([*zip(properties, group, strict=True)])
    }
    typical = sorted(first.values(), key=group.index)[:TYPICAL]
    return Theme(
        terms=terms,
        size=len(group),
        sources=dict(sorted(Counter(found["source"] for found in properties).items())),
        start=min((found["start"] for found in properties if found["start"]), default=None),
        end=max((found["end"] for found in properties if found["end"]), default=None),
        typical=tuple(
            shown(each.stored.id, each.stored.properties, sources[each.stored.properties["source"]])
            for each in typical
        ),
    )
