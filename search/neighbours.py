"""One passage in full, with what stands before and after it (spec 6.6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from search.conversation import window_order
from search.hits import Shown, shown
from search.lookups import Ground, on_ground
from search.passage import passage_id
from search.passages import Stored, StoredPassages
from search.reader import Reader
from search.scope import Scope
from search.settings import Settings

_SAME_START = 200
"""Windows that may start together: the pieces of one message of at most 64 kB."""


@dataclass(frozen=True, slots=True)
class Got:
    """The answer; ``passage`` is None when there is none of that id. Neighbours are in order."""

    id: str
    passage: Shown | None = None
    before: tuple[Shown, ...] = ()
    after: tuple[Shown, ...] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict)
    looked_in: Mapping[str, datetime | None] = field(default_factory=dict)


def get(identifier: str, count: int, *, reader: Reader, settings: Settings) -> Got:
    """The passage with ``count`` neighbours on either side.

    Neighbours are windows of the same timeline, or parts of the same file or commit message.
    """

    def look(ground: Ground) -> Got:
        if ground.resolved is None or not ground.asked.sources:
            return Got(identifier, unavailable=ground.unavailable)
        passages = reader.passages(ground.resolved.name)
        sources = ground.asked.sources
        stored = passages.by_ids([identifier]).get(identifier)
        if stored is None or stored.properties["source"] not in sources:
            return Got(identifier, unavailable=ground.unavailable, looked_in=ground.looked_in)
        source = sources[stored.properties["source"]]
        window = stored.properties["kind"] == "window"
        before, after = (_windows if window else _parts)(stored, count, passages)
        return Got(
            identifier,
            shown(stored.id, stored.properties, source),
            tuple(shown(each.id, each.properties, source) for each in before),
            tuple(shown(each.id, each.properties, source) for each in after),
            ground.unavailable,
            ground.looked_in,
        )

    return on_ground(Scope(), reader, settings, look)


def _windows(
    stored: Stored, count: int, passages: StoredPassages
) -> tuple[list[Stored], list[Stored]]:
    most = count + _SAME_START
    found = {stored.id: stored}
    for later in (False, True):
        found |= {each.id: each for each in passages.beside(stored, most, later=later)}
    ordered = sorted(found.values(), key=lambda each: window_order(each.properties))
    at = [each.id for each in ordered].index(stored.id)
    return ordered[max(0, at - count) : at], ordered[at + 1 : at + 1 + count]


def _parts(
    stored: Stored, count: int, passages: StoredPassages
) -> tuple[list[Stored], list[Stored]]:
    """By their ids, which are made of place and number alone (spec 2.4)."""
    found = stored.properties
    kind = found["kind"]
    name, number = found["source"].partition(":")[2], int(found["part"])
    place = found["path"] if kind == "file" else found["commit"]
    numbers = [*range(max(0, number - count), number), *range(number + 1, number + 1 + count)]
    ids = {each: passage_id(kind, name, place, each) for each in numbers}
    there = passages.by_ids([*ids.values()])
    parts = [(each, there[identifier]) for each, identifier in ids.items() if identifier in there]
    return (
        [part for each, part in parts if each < number],
        [part for each, part in parts if each > number],
    )
