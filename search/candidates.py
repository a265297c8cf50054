"""What one text's ranking is made of, and its order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Candidate:
    """One passage of one ranking. ``keyword`` and ``vector`` are the raw scores of the signals."""

    id: str
    score: float
    keyword: float | None
    vector: float | None
    properties: Mapping[str, Any]


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first, ties by id, whatever order the store gives them in (R12).

    That holds for what the store gives. Where more than ``OVER_FETCH`` passages tie, which of them
    it gives follows from the order in which they were stored.
    """
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.id))
