"""What a store confirmed: the only thing that a cursor may move on (spec 1.2, 2.3)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from search.ledger import Cursor, RoomCursor
from tasks.errors import WritesNotAcknowledged


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The ids that were meant to be written or deleted, and those the store confirmed."""

    planned: frozenset[str] = frozenset()
    acknowledged: frozenset[str] = frozenset()

    @classmethod
    def of(cls, planned: Iterable[str], acknowledged: Iterable[str]) -> Self:
        """From any two collections of ids."""
        return cls(frozenset(planned), frozenset(acknowledged))


@dataclass(frozen=True, slots=True)
class Counts:
    """What one step, or the sum of many, did. Numbers only, so that they may be shown anywhere.

    ``files`` were looked at: ``indexed`` have passages, the others are in ``skipped``.
    """

    files: int = 0
    commits: int = 0
    events: int = 0
    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    embedded: int = 0
    reused: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    scrubbed: Mapping[str, int] = field(default_factory=dict)
    indexed: int = 0

    @property
    def read(self) -> dict[str, int]:
        """The events read by what became of them: stored, or skipped and why (spec 3.6)."""
        if not self.events:
            return {}
        return {"stored": self.events - sum(self.skipped.values()), **self.skipped}

    def __add__(self, other: "Counts") -> "Counts":
        """The sum, field by field."""
        return Counts(
            files=self.files + other.files,
            commits=self.commits + other.commits,
            events=self.events + other.events,
            written=self.written + other.written,
            unchanged=self.unchanged + other.unchanged,
            deleted=self.deleted + other.deleted,
            embedded=self.embedded + other.embedded,
            reused=self.reused + other.reused,
            skipped=added(self.skipped, other.skipped),
            scrubbed=added(self.scrubbed, other.scrubbed),
            indexed=self.indexed + other.indexed,
        )


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Every write and delete of one step was confirmed; ``after`` is what the cursor may become.

    ``before`` is the cursor that the step started from. It cannot be built while one planned id
    lacks its confirmation, whatever a client's flag said.

    Raises:
        WritesNotAcknowledged: the sets differ.
    """

    source: str
    before: Cursor
    after: Cursor
    upserts: Confirmation = Confirmation()
    deletes: Confirmation = Confirmation()
    counts: Counts = Counts()

    def __post_init__(self) -> None:
        for doing, confirmation in (("upserts", self.upserts), ("deletes", self.deletes)):
            if confirmation.planned != confirmation.acknowledged:
                raise WritesNotAcknowledged(
                    self.source,
                    doing,
                    planned=len(confirmation.planned),
                    acknowledged=len(confirmation.planned & confirmation.acknowledged),
                )

    @property
    def finished(self) -> bool:
        """Whether the source is caught up once this is committed."""
        if isinstance(self.after, RoomCursor):
            return self.after.phase is None
        return not self.after.targets


def added(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    """The sum of two counts, key by key."""
    return {key: left.get(key, 0) + right.get(key, 0) for key in sorted({*left, *right})}
