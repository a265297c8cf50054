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

    Only files have paths, so ``paths`` come with that kind. Senders and threads come with sources
    of chat alone (``search.scope``): an author of a commit is no sender, since anybody can write a
    user id into git's author field.
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
    return Selection(
        sources=tuple(sources),
        kinds=("file",) if scope.paths else (),
        paths=scope.paths,
        senders=scope.senders,
        threads=scope.threads,
        since=scope.since,
        until=scope.until,
    )
