"""The ports of the write side: plain data in and out, two to five methods each.

Fakes for unit tests live in ``tests/support``; a contract suite runs over fake and real adapter.
Chat's port (``RoomHistory``) comes with the rooms.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from search.ledger import SourceRecord
from search.passage import Lines, Passage


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a commit's tree. ``size`` is in bytes, None for what is no blob."""

    path: str
    mode: str
    blob: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Tree:
    """All entries of a commit's tree, recursively, sorted by path.

    ``unreadable_paths`` counts entries left out because their name is not UTF-8.
    ``generated`` and ``vendored`` hold the paths that ``.gitattributes`` marks so (linguist),
    ``not_generated`` and ``not_vendored`` those of which it says that they are not.
    """

    entries: tuple[TreeEntry, ...]
    unreadable_paths: int = 0
    generated: frozenset[str] = frozenset()
    vendored: frozenset[str] = frozenset()
    not_generated: frozenset[str] = frozenset()
    not_vendored: frozenset[str] = frozenset()

    def is_generated(self, path: str) -> bool | None:
        """What ``.gitattributes`` says, None for nothing."""
        return _said(path, self.generated, self.not_generated)

    def is_vendored(self, path: str) -> bool | None:
        """What ``.gitattributes`` says, None for nothing."""
        return _said(path, self.vendored, self.not_vendored)


def _said(path: str, yes: frozenset[str], no: frozenset[str]) -> bool | None:
    return True if path in yes else False if path in no else None


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """A commit's own words. ``authored_at`` is UTC; ``parents`` counts its parents."""

    sha: str
    author: str
    authored_at: datetime
    message: str
    parents: int


class Repository(Protocol):
    """One repository, read from its mirror's object store, never a checkout (spec 5.1)."""

    def tip(self) -> str | None:
        """The full commit id at the tip (one ls-remote), None when it has no commit at all.

        Raises:
            RepositoryUnreadable: gone, refused, timed out, or its HEAD names a missing branch.
        """

    def fetch(self, commit: str | None = None) -> None:
        """Bring the mirror up to the remote, making it first if need be.

        With ``commit``, only if the mirror does not hold that one: a task may run on another
        machine, or after a damaged mirror was thrown away.
        """

    def tree(self, commit: str) -> Tree:
        """The whole tree of ``commit``.

        Raises:
            UnknownCommit: the mirror does not have that commit (pruned, or never fetched).
        """

    def blobs(self, blobs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """The content of each blob, in the order asked, one in memory at a time."""

    def commit_ids(self, include: Sequence[str], exclude: Sequence[str]) -> list[str]:
        """Ids of commits reachable from ``include`` and not from ``exclude``, oldest first.

        Raises:
            UnknownCommit: one of them is not in the mirror.
        """

    def commit_messages(self, commits: Sequence[str]) -> Iterator[CommitMessage]:
        """The messages of these commits, in the order asked."""

    def close(self) -> None:
        """Release the helper processes and file handles."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file: its text, where it stands, and the headings or symbols above it."""

    text: str
    trail: tuple[str, ...]
    lines: Lines


class Chunker(Protocol):
    """Cuts a file's text into chunks that follow its structure (spec 5.3)."""

    def chunks(self, path: str, text: str) -> list[Chunk]:
        """Chunks in order of place; blank ones left out."""


class Scrubber(Protocol):
    """Takes credentials out of text (spec 4.2)."""

    version: str

    def scrub(self, texts: Sequence[str]) -> "list[Scrubbed]":
        """Each text with its secrets replaced by ``[scrubbed:<rule>]``, in the order given."""

    def scrub_together(self, texts: Sequence[str]) -> "list[Scrubbed]":
        """The same for consecutive messages of one sender: a secret may span several."""


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """A text without its secrets, and how many were taken out by rule (never their values)."""

    text: str
    counts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """What the store tells of a passage without its text: enough to see what differs."""

    id: str
    kind: str
    fingerprint: str
    rules: str
    path: str
    blob: str
    commit: str


@dataclass(frozen=True, slots=True)
class Vectors:
    """The named vectors of a passage: its own, and one per part (decision 0001)."""

    window: Sequence[float]
    parts: Sequence[Sequence[float]]


class PassageWriter(Protocol):
    """The only writer of passages. What it returns as acknowledged was read back from the store."""

    def stored(
        self,
        source: str,
        *,
        paths: Sequence[str] | None = None,
        commits: Sequence[str] | None = None,
    ) -> Iterator[StoredPassage]:
        """What the store holds of a source: all of it, or of these paths, or of these commits."""

    def vectors(self, digests: Sequence[str]) -> dict[str, Vectors]:
        """Vectors of any passage with one of these digests, of whatever source (spec 5.4)."""

    def write(self, passages: Iterable[tuple[Passage, Vectors]]) -> set[str]:
        """Writes by id and gives the ids that the store holds afterwards in just this form."""

    def delete(self, ids: Sequence[str]) -> set[str]:
        """Deletes and gives the ids that the store no longer holds."""

    def expunge(self, ids: Sequence[str]) -> None:
        """Deletes one by one what the indexes may not show whole; fine if there is none."""

    def count(self, source: str) -> int:
        """How many passages the store holds of a source."""


class Ledger(Protocol):
    """One record per source, in the same Weaviate as the passages (spec 2.1, 2.2).

    Beside the records of sources it holds a few documents (JSON texts) by kind and key.
    """

    def record(self, source: str) -> SourceRecord:
        """The source's record; a new one when there is none."""

    def put(self, record: SourceRecord) -> None:
        """Stores the record, acknowledged by reading it back."""

    def records(self) -> dict[str, SourceRecord]:
        """All records of this collection, by source id."""

    def forget(self, source: str) -> None:
        """Removes the record of a source whose passages are all gone."""

    def document(self, kind: str, key: str = "") -> str | None:
        """A document, None when there is none."""

    def documents(self, kind: str) -> dict[str, str]:
        """All documents of a kind, by key."""

    def put_document(self, kind: str, payload: str, key: str = "") -> None:
        """Stores a document, acknowledged by reading it back."""

    def forget_document(self, kind: str, key: str = "") -> None:
        """Removes a document; fine if there is none."""
