"""Selections as Weaviate's filters: they hold inside the query, never after it (spec 6.3, R08)."""

from typing import TYPE_CHECKING

from search.path_globs import Like
from search.selection import Selection

if TYPE_CHECKING:
    from weaviate.collections.classes.filters import _Filters


def as_filter(selection: Selection) -> "_Filters":
    """All of the selection in one filter; its list of sources may not be empty."""
    from weaviate.classes.query import Filter

    parts = [Filter.by_property("source").contains_any(list(selection.sources))]
    equal = {
        "kind": selection.kinds,
        "authors": selection.senders,
        "thread": selection.threads,
    }
    for name, values in equal.items():
        if values:
            parts.append(Filter.by_property(name).contains_any(list(values)))
    if selection.paths:
        parts.append(Filter.any_of([_like(like) for like in selection.paths]))
    if selection.since:
        parts.append(Filter.by_property("end").greater_or_equal(selection.since))
    if selection.until:
        parts.append(Filter.by_property("start").less_or_equal(selection.until))
    return Filter.all_of(parts)


def _like(like: Like) -> "_Filters":
    from weaviate.classes.query import Filter

    path = Filter.by_property("path")
    if like.folders is None:
        return path.like(like.pattern)
    if "*" not in like.pattern and "?" not in like.pattern:
        return path.equal(like.pattern)
    deeper = "*/" * (like.folders + 1) + "*"
    return path.like(like.pattern) & Filter.not_(path.like(deeper))
