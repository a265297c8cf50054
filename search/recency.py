"""Newer passages before older ones, for those who ask for it (spec 6.6). Pure."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta


def weighted(
    fused: Sequence[tuple[str, float]],
    ends: Mapping[str, datetime | None],
    half_life: timedelta,
    now: datetime,
) -> list[tuple[str, float]]:
    """Ids with score x 2^(-age / half-life), best first, ties by id.

    The age runs from a passage's ``end`` to ``now``; the future counts as now, for anybody can date
    a commit ahead. A passage without a time (a file) counts as old as the oldest dated one of
    the candidates: its age is not known, so it gains nothing and does not vanish.
    """
    ages = {id_: max(now - end, timedelta(0)) for id_, end in ends.items() if end is not None}
    oldest = max(ages.values(), default=timedelta(0))
    aged = {id_: ages.get(id_, oldest) / half_life for id_, _ in fused}
    # Ordered by logarithm: the weight of what is very old is 0 as a float, its order is not.
    order = {id_: math.log2(score) - aged[id_] for id_, score in fused}
    ranked = sorted(fused, key=lambda item: (-order[item[0]], item[0]))
    return [(id_, score * 2 ** -aged[id_]) for id_, score in ranked]
