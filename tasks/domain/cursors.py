"""How a repository's cursor moves (drawn in ``search.ledger``), and what a run has to look at."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from search.ledger import Position, RepoCursor
from tasks.errors import TooManyDeletes

TreeMap = Mapping[str, tuple[str, str]]
"""Path → (how the tree presents it, blob id)."""

FIRST = Position("files")
MOST_TARGETS = 8
"""More unfinished targets than this, and the run lists what is stored instead."""

MOST_NOTED = 100
"""Unfinished targets that are remembered, so that what they wrote is cited at them."""

GUARDED_FROM = 100
"""Sources with fewer passages may be emptied without being asked (spec 2.7)."""


def begun(
    cursor: RepoCursor, target: str, *, rules: str, admission: str, now: datetime | None = None
) -> RepoCursor:
    """The cursor of a run towards ``target``, noted at ``now``; the held commit does not move.

    A run that was cut short on its way to the same target goes on where it stopped. With changed
    rules, or after too many unfinished runs, what is held is no longer known: the cursor is set
    aside and the run goes through the whole tree.
    """
    same_rules = (cursor.rules, cursor.admission) == (rules, admission)
    if same_rules and cursor.position and cursor.targets[-1:] == (target,):
        return cursor
    others, times = cursor.targets[-MOST_NOTED:], cursor.since[-MOST_NOTED:]
    if not same_rules or len(others) >= MOST_TARGETS:
        cursor = set_aside(cursor)
    return replace(
        cursor,
        targets=(*others, target),
        since=(*times, (now or datetime.now(UTC)).isoformat()),
        position=FIRST,
        rules=rules,
        admission=admission,
    )


def set_aside(cursor: RepoCursor) -> RepoCursor:
    """No longer vouching for the held commit, but remembering it (spec 2.3)."""
    return replace(cursor, commit=None, last_commit=cursor.commit or cursor.last_commit)


def restarted(cursor: RepoCursor) -> RepoCursor:
    """As if no run had ever begun, but remembering the last commit: everything is gone through."""
    return replace(set_aside(cursor), position=None)


def arrived(cursor: RepoCursor) -> RepoCursor:
    """Everything of the newest target was acknowledged: it is what the collection holds."""
    return RepoCursor(commit=cursor.targets[-1], rules=cursor.rules, admission=cursor.admission)


def bases(cursor: RepoCursor) -> tuple[str, ...] | None:
    """Commits whose trees the stored passages can stem from, None when that is not known."""
    if cursor.commit is None:
        return None
    return (cursor.commit, *cursor.targets[:-1])


def changed_paths(before: Iterable[TreeMap], after: TreeMap) -> list[str]:
    """Paths, sorted, that differ between any tree of ``before`` and ``after`` (spec 5.4)."""
    changed: set[str] = set()
    for tree in before:
        changed.update(
            path for path in tree.keys() | after.keys() if tree.get(path) != after.get(path)
        )
    return sorted(changed)


def check_deletes(source: str, stale: Sequence[str], stored: int, *, allowed: bool) -> None:
    """Stops a run that would delete more than half of a source (spec 2.7).

    Raises:
        TooManyDeletes: with the counts; nothing was deleted yet.
    """
    if not allowed and stored >= GUARDED_FROM and len(stale) * 2 > stored:
        raise TooManyDeletes(source, len(stale), stored)
