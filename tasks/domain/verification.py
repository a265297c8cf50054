"""What is compared by ``verify``, and what each difference is called (spec 7.2)."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from search.collection import PARTS_VECTOR, PROPERTIES, WINDOW_VECTOR, fingerprint_over, rfc3339

Kind = Literal["missing", "extra", "text", "citation", "form", "vectors"]
"""What is wrong with a passage, the worst first; it is called by the first that fits."""

OF_COLLECTION: Final = ("orphan", "hidden", "count")
"""Differences that are no passage's own: of a source that the ledger does not know; held, but not
found by what look-ups and runs ask; the ledger's number of passages."""

_TEXT: Final = frozenset({"text", "trail", "keywords", "turns", "digest"})
_FORM: Final = frozenset({"slot", "rules", "segment"})
_NEVER_COMPARED: Final = frozenset({"fingerprint", "ingested_at"})

MOST_NAMED: Final = 10
"""So many passages of a source are named in what is told; all are counted."""


@dataclass(frozen=True, slots=True)
class Print:
    """Digests of a passage's properties: enough to tell what differs, and no word of it.

    ``fingerprint`` is made of all of them as they are; ``claimed`` is what is stored as their
    fingerprint, by which runs see what differs. ``whole``: every vector is there.
    """

    id: str
    fingerprint: str
    claimed: str
    text: str
    citation: str
    whole: bool = True


Result = Literal["same", "different", "mended", "leaving", "unverified"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one source: ids and numbers, never a text (spec 7.3).

    ``same``: the ``passages`` held are those that its source gives. ``behind`` says what the source
    has that no run has taken yet: no difference. ``different``: ``differences`` counts passages by
    what is wrong, ``ids`` names some. ``mended``: ``differences`` were found, and are gone now.
    ``leaving``: the next refresh removes it, for the ``reason``. ``unverified``: it could not be
    compared, for the ``reason``.
    """

    source: str
    result: Result
    passages: int = 0
    differences: Mapping[str, int] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    behind: str | None = None
    reason: str | None = None

    @property
    def failed(self) -> bool:
        """Whether something is to be done about it."""
        return self.result in ("different", "unverified")


def print_of(
    identifier: str, properties: Mapping[str, Any], *, claimed: str, whole: bool = True
) -> Print:
    """Of properties in the form that ``search.collection.properties_of`` gives them."""
    form = {name: value for name, value in properties.items() if name not in _NEVER_COMPARED}
    return Print(
        id=identifier,
        fingerprint=fingerprint_over(form),
        claimed=claimed,
        text=_digest({name: form[name] for name in form if name in _TEXT}),
        citation=_digest({name: form[name] for name in form if name not in _TEXT | _FORM}),
        whole=whole,
    )


def as_written(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Properties as the store gives them, in the form in which they were written."""
    form: dict[str, Any] = {}
    for declared in PROPERTIES:
        name, value = declared.name, stored.get(declared.name)
        if name in _NEVER_COMPARED:
            continue
        if declared.type == "text":
            form[name] = value or ""
        elif declared.type == "text[]":
            form[name] = list(value or ())
        elif value not in (None, []):  # written only where there is one
            form[name] = rfc3339(value) if declared.type == "date" else value
    return form


def is_whole(properties: Mapping[str, Any], vectors: Mapping[str, Any], dimensions: int) -> bool:
    """Whether every named vector is there: the passage's own, and one for each part of it."""
    turns = json.loads(properties.get("turns") or "[]")
    parts = vectors.get(PARTS_VECTOR) or []
    every = [vectors.get(WINDOW_VECTOR) or [], *parts]
    return len(parts) == (len(turns) or 1) and all(
        len(numbers) == dimensions and any(numbers) for numbers in every
    )


def differences(expected: Iterable[Print], held: Iterable[Print]) -> Iterator[tuple[str, Kind]]:
    """The ids that differ and how; both are given in order of id, and neither is kept."""
    wanted, found = iter(expected), iter(held)
    left, right = next(wanted, None), next(found, None)
    while left is not None or right is not None:
        if right is None or (left is not None and left.id < right.id):
            assert left is not None, "one of them is there"  # noqa: S101  # the loop says so
            yield left.id, "missing"
            left = next(wanted, None)
        elif left is None or right.id < left.id:
            yield right.id, "extra"
            right = next(found, None)
        else:
            kind = difference(left, right)
            if kind is not None:
                yield left.id, kind
            left, right = next(wanted, None), next(found, None)


def difference(expected: Print, held: Print) -> Kind | None:
    """How a passage that is held differs from the one that its source gives."""
    if held.text != expected.text:
        return "text"
    if held.citation != expected.citation:
        return "citation"
    if {held.fingerprint, held.claimed} != {expected.fingerprint}:
        return "form"
    return None if held.whole else "vectors"


def is_miscounted(told: int, there: int, indexed: int) -> bool:
    """Whether the ledger's number of passages fits neither what is there nor what the index counts.

    An index that lost its last lines in a kill goes on counting what was deleted, for good
    (docs/decisions/0009); the ledger's number is the index's when the last run ended.
    """
    return not there <= told <= max(there, indexed)


def merged(found: Finding, also: Finding | None) -> Finding:
    """A source's finding, with what a survey of the whole collection found of it."""
    if also is None or found.result == "leaving":
        return found
    return replace(
        found,
        result="unverified" if found.result == "unverified" else "different",
        differences={**found.differences, **also.differences},
        ids=(*found.ids, *also.ids)[:MOST_NAMED],
    )


def _digest(properties: Mapping[str, Any]) -> str:
    form = json.dumps(properties, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(form.encode()).hexdigest()
