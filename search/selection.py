"""What a look-up asks of the store: the scope with its sources made ids. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from search.passage import Kind
from search.path_globs import Like
from search.scope import Scope


@dataclass(frozen=True, slots=True)
class Selection:
    """Passages of these sources for which every other filter holds; an empty one holds for all.

    ``kinds`` follow from the rest: only files have paths, only windows senders and threads. An
    author of a commit is no sender: anybody can write a user id into git's author field.
    """

    sources: tuple[str, ...]
    kinds: tuple[Kind, ...] = ()
    paths: tuple[Like, ...] = ()
    senders: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    def only(self, kind: Kind) -> "Selection | None":
        """The same of one kind of passage; None if that kind is left out."""
        return replace(self, kinds=(kind,)) if not self.kinds or kind in self.kinds else None


def selection(scope: Scope, sources: Iterable[str]) -> Selection:
    """The scope's filters on these source ids."""
    kinds: tuple[Kind, ...] = ()
    if scope.paths:
        kinds = ("file",)
    elif scope.senders or scope.threads:
        kinds = ("window",)
    return Selection(
        sources=tuple(sources),
        kinds=kinds,
        paths=scope.paths,
        senders=scope.senders,
        threads=scope.threads,
        since=scope.since,
        until=scope.until,
    )
