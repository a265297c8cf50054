"""A repository in memory: the fake of the ``Repository`` port, and what it reads from.

``FakeSource`` is built like ``git_repos.GitRepo``; ``FakeRepository`` mirrors it.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tasks.errors import RepositoryBusy, UnknownCommit
from tasks.ports import CommitMessage, Tree, TreeEntry
from tests.support.git_repos import FIRST_SECOND, Content, Files, Link, Submodule


@dataclass(frozen=True)
class FakeCommit:
    files: dict[bytes, Content]
    message: CommitMessage
    parents: tuple[str, ...]


@dataclass
class FakeSource:
    """A remote with one branch. Set ``unreadable`` to make it fail."""

    commits: dict[str, FakeCommit] = field(default_factory=dict)
    current: str | None = None
    unreadable: Exception | None = None

    def tip(self) -> str | None:
        return self.current

    def commit(
        self,
        files: Files | None = None,
        *,
        message: str = "Change",
        author: str = "Ada Lovelace",
        when: str | None = None,
        parents: Sequence[str] | None = None,
        base: str | None = None,
    ) -> str:
        """See ``GitRepo.commit``."""
        if parents is None:
            parents = [self.current] if self.current else []
        base = base or (parents[0] if parents else None)
        content = dict(self.commits[base].files) if base else {}
        for path, value in (files or {}).items():
            name = path if isinstance(path, bytes) else path.encode()
            content.pop(name, None)
            if value is not None:
                content[name] = value
        seconds = int(when.split()[0]) if when else FIRST_SECOND + 60 * len(self.commits)
        authored = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        key = json.dumps([len(self.commits), message, author, list(parents)])
        sha = hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest()
        own = CommitMessage(sha, author, authored, message, len(parents))
        self.commits[sha] = FakeCommit(content, own, tuple(parents))
        self.current = sha
        return sha

    def amend(self, files: Files | None = None, *, message: str = "Change") -> str:
        """See ``GitRepo.amend``."""
        assert self.current is not None
        parents = self.commits[self.current].parents
        return self.commit(files, message=message, parents=parents, base=self.current)

    def reset(self, commit: str) -> None:
        """See ``GitRepo.reset``."""
        self.current = commit


@dataclass
class FakeRepository:
    """The port over a ``FakeSource``; ``blobs_read`` holds the ids of all blobs it gave out."""

    source: FakeSource
    mirrored: dict[str, FakeCommit] = field(default_factory=dict)
    blobs_read: list[str] = field(default_factory=list)

    def tip(self) -> str | None:
        if self.source.unreadable:
            raise self.source.unreadable
        return self.source.current

    def fetch(self, commit: str | None = None) -> None:
        if commit in self.mirrored:
            return
        if tip := self.tip():
            for sha in _reachable(self.source.commits, [tip]):
                self.mirrored[sha] = self.source.commits[sha]

    def prune(self) -> None:
        """Lose what the tip does not lead to, as a mirror made anew has."""
        self.mirrored.clear()
        self.fetch()

    def tree(self, commit: str) -> Tree:
        entries = []
        unreadable = 0
        marked: dict[str, set[str]] = {}
        for path, content in sorted(self._known(commit).files.items()):
            try:
                name = path.decode()
            except UnicodeDecodeError:
                unreadable += 1
                continue
            entries.append(_entry(name, content))
            if name == ".gitattributes":
                for line in _raw(content).decode().splitlines():
                    pattern, attribute = line.split()
                    marked.setdefault(attribute, set()).add(pattern)
                    # The fake takes a pattern for a path, and knows set and unset alone.
        return Tree(
            tuple(entries),
            unreadable,
            generated=frozenset(marked.get("linguist-generated", ())),
            vendored=frozenset(marked.get("linguist-vendored", ())),
            not_generated=frozenset(marked.get("-linguist-generated", ())),
            not_vendored=frozenset(marked.get("-linguist-vendored", ())),
        )

    def blobs(self, blobs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        held = {
            _entry("", content).blob: _raw(content)
            for commit in self.mirrored.values()
            for content in commit.files.values()
            if not isinstance(content, Submodule)
        }
        for blob in blobs:
            if blob not in held:
                raise RepositoryBusy("the mirror lost a blob. Run the refresh again.")
            self.blobs_read.append(blob)
            yield blob, held[blob]

    def commit_ids(self, include: Sequence[str], exclude: Sequence[str]) -> list[str]:
        for commit in (*include, *exclude):
            self._known(commit)
        left_out = set(_reachable(self.mirrored, exclude))
        return [sha for sha in _reachable(self.mirrored, include) if sha not in left_out]

    def commit_messages(self, commits: Sequence[str]) -> Iterator[CommitMessage]:
        for commit in commits:
            yield self._known(commit).message

    def close(self) -> None:
        """Nothing is held."""

    def _known(self, commit: str) -> FakeCommit:
        if commit not in self.mirrored:
            raise UnknownCommit(f"the mirror does not hold {commit!r}. Fetch it.")
        return self.mirrored[commit]


def _reachable(commits: dict[str, FakeCommit], heads: Sequence[str]) -> list[str]:
    """What the heads lead to, oldest first: commits are kept in the order they were made."""
    found: set[str] = set()
    open_ends = list(heads)
    while open_ends:
        sha = open_ends.pop()
        if sha not in found:
            found.add(sha)
            open_ends += commits[sha].parents
    return [sha for sha in commits if sha in found]


def _raw(content: Content) -> bytes:
    match content:
        case bytes():
            return content
        case str():
            return content.encode()
        case Link(target):
            return target.encode()
        case _:
            raise AssertionError(content)


def _entry(path: str, content: Content) -> TreeEntry:
    if isinstance(content, Submodule):
        return TreeEntry(path, "160000", content.commit, None)
    raw = _raw(content)
    blob = hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()
    return TreeEntry(path, "120000" if isinstance(content, Link) else "100644", blob, len(raw))
