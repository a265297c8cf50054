"""Reciprocal rank fusion of several rankings (Cormack, Clarke, Buettcher: SIGIR 2009; spec 6.2)."""

import math
from collections.abc import Sequence

K = 60


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], *, k: int = K
) -> list[tuple[str, float]]:
    """Ids with their fused score, best first.

    The score is the sum of ``1 / (k + rank)`` over the rankings that hold the id, rank from 1; an
    id counts once per ranking, at its best rank. Ties go by id, so the same rankings in any order
    give the same answer.
    """
    shares: dict[str, list[float]] = {}
    for ranking in rankings:
        for rank, identifier in enumerate(dict.fromkeys(ranking), start=1):
            shares.setdefault(identifier, []).append(1 / (k + rank))
    # fsum is exact, so equal ranks in another order of rankings stay equal.
    scores = {identifier: math.fsum(parts) for identifier, parts in shares.items()}
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
