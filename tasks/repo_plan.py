"""What a run has to look at: derived anew from the cursor by each task, cached in a process."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from search.ledger import RepoCursor
from tasks.domain.cursors import bases, changed_paths
from tasks.ports import Repository, Tree, TreeEntry

MOST_CACHED = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """The way from what is held to the newest target.

    ``paths`` are to be looked at, sorted; ``commits`` are to be written, oldest first. With
    ``whole`` set what is held is not known: everything is gone through, and what to delete is
    found by listing the store; otherwise ``stale_commits`` and ``paths`` bound it.
    """

    tree: Tree
    entries: Mapping[str, TreeEntry]
    paths: tuple[str, ...]
    commits: tuple[str, ...]
    stale_commits: frozenset[str]
    all_commits: frozenset[str]
    whole: bool


class Plans:
    """Plans of the last few cursors: the tasks of one chain ask for the same one again."""

    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[object, ...], Plan] = OrderedDict()

    def plan(
        self, source: str, repository: Repository, cursor: RepoCursor, *, commit_messages: bool
    ) -> Plan:
        """The plan for ``cursor``.

        Raises:
            UnknownCommit: a commit that the cursor names is gone from the mirror.
        """
        key = (source, cursor.commit, cursor.targets, cursor.admission, cursor.rules)
        if key not in self._cached:
            self._cached[key] = make_plan(repository, cursor, commit_messages=commit_messages)
            while len(self._cached) > MOST_CACHED:
                self._cached.popitem(last=False)
        return self._cached[key]


def make_plan(repository: Repository, cursor: RepoCursor, *, commit_messages: bool) -> Plan:
    """See ``Plans.plan``."""
    target = cursor.targets[-1]
    tree = repository.tree(target)
    entries = {entry.path: entry for entry in tree.entries}
    held = bases(cursor)
    if held is None:
        commits = repository.commit_ids([target], []) if commit_messages else []
        return Plan(
            tree=tree,
            entries=entries,
            paths=tuple(sorted(entries)),
            commits=tuple(commits),
            stale_commits=frozenset(),
            all_commits=frozenset(commits),
            whole=True,
        )
    before = [as_map(repository.tree(commit)) for commit in held]
    commits = repository.commit_ids([target], [held[0]]) if commit_messages else []
    stale = repository.commit_ids(list(held), [target]) if commit_messages else []
    return Plan(
        tree=tree,
        entries=entries,
        paths=tuple(changed_paths(before, as_map(tree))),
        commits=tuple(commits),
        stale_commits=frozenset(stale),
        all_commits=frozenset(),
        whole=False,
    )


def as_map(tree: Tree) -> dict[str, tuple[str, str]]:
    """Path → what decides about its passages: the blob, and how the tree presents it."""
    return {entry.path: (_presented(tree, entry), entry.blob) for entry in tree.entries}


def _presented(tree: Tree, entry: TreeEntry) -> str:
    """Changed attributes change what is taken, though the blob stays the same."""
    return f"{entry.mode} {tree.is_generated(entry.path)} {tree.is_vendored(entry.path)}"
