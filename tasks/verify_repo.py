"""The two sides that ``verify`` compares of a repository (spec 7.2).

At rest the cursor names a commit: what is stored is compared with a clean run over that commit, and
a tip that has moved on is news, not a difference. A cursor that names none (a run was cut short,
the settings changed, the commit was pruned) says what the next run has to do: then that run is done
on what is stored, without writing it, and the outcome compared with a clean run over the tip.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from search.ledger import RepoCursor
from tasks import repos
from tasks.adapters.recording import Recording
from tasks.bootstrap import open_repo
from tasks.context import RepoContext, Store
from tasks.errors import NeverRead, UnknownCommit
from tasks.ports import CommitMessage, Repository, Tree
from tasks.verify_chain import Sides, Unembedding, run
from tasks.verify_snapshot import Snapshot


@contextmanager
def repo_sides(name: str, snapshot: Snapshot) -> Iterator[Sides]:
    """Both sides, for as long as the block lasts.

    Raises:
        NeverRead: no run has read it yet.
        RepositoryUnreadable: it does not answer, or without any commit though some were held.
        SourceNotListed: no repository of that name is listed.
    """
    with open_repo(name, ingest=False) as opened, closing(Recording()) as expected:
        yield sides(opened, snapshot, expected)


def sides(opened: RepoContext, snapshot: Snapshot, expected: Recording) -> Sides:
    """See ``repo_sides``; ``opened`` has the source, and a store that is not used."""
    record = snapshot.record
    if record.cursor == RepoCursor() and record.state != "current":
        raise NeverRead(record.source)
    tip = opened.repository.tip()
    at_rest = tip is not None and _is_at_rest(opened, snapshot)
    target = record.cursor.commit if at_rest else tip
    if not at_rest:
        _run(opened, snapshot.store, target)
    if target is not None:
        _run(opened, snapshot.empty_store(expected), target)
    return Sides(expected, snapshot.held, _behind(opened, snapshot, target, tip))


def _is_at_rest(opened: RepoContext, snapshot: Snapshot) -> bool:
    """Whether the cursor vouches for one commit, by today's rules, that can still be read."""
    commit = snapshot.record.cursor.commit
    if commit is None or not repos.is_current(
        snapshot.record, commit, opened.rules, opened.admission
    ):
        return False
    try:
        opened.repository.fetch(commit)
        opened.repository.tree(commit)
    except UnknownCommit:
        return False
    return True


def _run(opened: RepoContext, store: Store, target: str | None) -> None:
    context = replace(
        opened,
        repository=_Pinned(opened.repository, target),
        store=store,
        embedder=Unembedding(opened.embedder),
    )
    run(
        store,
        lambda: repos.begin(context),
        lambda: repos.upsert(context, allow_mass_delete=True),
    )


def _behind(
    opened: RepoContext, snapshot: Snapshot, target: str | None, tip: str | None
) -> str | None:
    cursor = snapshot.record.cursor
    if target != tip:
        return f"the repository is at {(tip or '')[:12]}, the collection at {(target or '')[:12]}"
    if cursor.targets or (cursor.commit is None and cursor.last_commit):
        return "a run was cut short: compared as the next one leaves it"
    if (cursor.rules, cursor.admission) != (opened.rules, opened.admission) and cursor.commit:
        return "settings or rules changed: compared as the next run leaves it"
    if cursor.commit != target:
        return "the commit that is held is pruned: compared as the next run leaves it"
    return None


@dataclass(frozen=True, slots=True)
class _Pinned:
    """A repository whose tip is the commit ``at``, wherever the real one's has gone."""

    of: Repository
    at: str | None

    def tip(self) -> str | None:
        return self.at

    def fetch(self, commit: str | None = None) -> None:
        self.of.fetch(commit or self.at)

    def tree(self, commit: str) -> Tree:
        return self.of.tree(commit)

    def blobs(self, blobs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        return self.of.blobs(blobs)

    def commit_ids(self, include: Sequence[str], exclude: Sequence[str]) -> list[str]:
        return self.of.commit_ids(include, exclude)

    def commit_messages(self, commits: Sequence[str]) -> Iterator[CommitMessage]:
        return self.of.commit_messages(commits)

    def close(self) -> None:
        """The other's to close."""
