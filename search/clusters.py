"""Groups of vectors, and the terms that tell a group from the others. Imported only for themes.

The same data gives the same groups: the seed is fixed, points come in a fixed order, and one thread
adds the numbers up (several would add them in another order each time).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
)
from threadpoolctl import threadpool_limits

TERMS = 8
_SEED = 20_260_101
_TRIES = 4
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Cluster:
    """Places (in the order given) of its members, the most typical first."""

    members: tuple[int, ...]


def clusters(vectors: Sequence[Sequence[float]], count: int) -> list[Cluster]:
    """At most ``count`` groups of the vectors, the largest first, ties by first place."""
    points = np.asarray(vectors, dtype=np.float64)
    distinct = len(np.unique(points, axis=0))
    with threadpool_limits(limits=1):
        model = KMeans(min(count, distinct), n_init=_TRIES, random_state=_SEED).fit(points)
    distances = np.linalg.norm(points - model.cluster_centers_[model.labels_], axis=1)
    groups: dict[int, list[int]] = {}
    for place, label in enumerate(model.labels_):
        groups.setdefault(int(label), []).append(place)
    made = [
        Cluster(tuple(sorted(group, key=lambda place: (round(distances[place], 6), place))))
        for group in groups.values()
    ]
    return sorted(made, key=lambda cluster: (-len(cluster.members), min(cluster.members)))


def terms_of(groups: Sequence[Sequence[str]], left_out: frozenset[str]) -> list[tuple[str, ...]]:
    """The terms that are more frequent in each group than elsewhere, the most telling first.

    Each group is a list of analysed texts. Class-based TF-IDF: share of the group's terms times
    log(1 + mean number of terms of a group / number in all groups); a text counts a term once.
    """
    counts = [
        Counter(term for text in group for term in set(text.split()) if _tells(term, left_out))
        for group in groups
    ]
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    mean = sum(total.values()) / len(counts) if counts else 0
    return [
        _best(count, total, mean, len(group)) for count, group in zip(counts, groups, strict=True)
    ]


def _best(count: Counter[str], total: Counter[str], mean: float, size: int) -> tuple[str, ...]:
    """What stands in one text alone says nothing of a group of several."""
    least = 1 if size < 2 else 2  # noqa: PLR2004
    weight = {
        term: number * math.log(1 + mean / total[term])
        for term, number in count.items()
        if number >= least
    }
    ranked = sorted(weight, key=lambda term: (-weight[term], term))
    chosen: list[str] = []
    for term in ranked:
        if not any(term in other.split() or other in term for other in chosen):
            chosen.append(term)
    return tuple(chosen[:TERMS])


def _tells(term: str, left_out: frozenset[str]) -> bool:
    plain = term.isalpha() or (term.replace("_", "").isalnum() and not term[:1].isdigit())
    return (
        plain and len(term) >= _SHORTEST and term not in ENGLISH_STOP_WORDS and term not in left_out
    )
