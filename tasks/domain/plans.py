"""What a run would do with a source, told from the ledger alone (``--dry-run``)."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from search.ledger import RepoCursor, RoomCursor, SourceRecord

Action = Literal["unchanged", "new", "news", "reread", "range", "remove", "unavailable"]

CUT_SHORT = "a run was cut short"
RULES = "the rules changed"
LABEL = "its label changed"
PURGE = "a purge waits"
LAST = "its last run failed"


@dataclass(frozen=True, slots=True)
class Planned:
    """One source: ids and numbers only.

    ``held`` and ``target`` are commits, ``files`` and ``commits`` how many of them differ between
    the two (None: that cannot be told before it is fetched), ``passages`` how many would be
    removed, or looked at in a range.
    """

    source: str
    action: Action
    reason: str | None = None
    held: str | None = None
    target: str | None = None
    files: int | None = None
    commits: int | None = None
    passages: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def of_room(record: SourceRecord | None, version: str, *, purge: bool) -> tuple[Action, str | None]:
    """What a refresh would do with a room that may be read and is not as it was."""
    if record is None or record.room == RoomCursor():
        return "new", None
    cursor = record.room
    if cursor.version not in ("", version):
        return "reread", RULES
    if cursor.phase is not None or cursor.stream is None:
        return "news", CUT_SHORT
    if purge:
        return "news", PURGE
    return "news", LAST if record.state == "failed" else None


def of_repository(
    record: SourceRecord, tip: str | None, *, rules: str, admission: str, label: str | None
) -> tuple[Action, str | None]:
    """What a refresh would do with a repository whose tip is this, None for no commit at all."""
    cursor = record.cursor
    if tip is None:
        return _without_commits(record)
    if cursor == RepoCursor():
        return "new", None
    if (cursor.rules, cursor.admission) != (rules, admission):
        return "reread", RULES
    if cursor.commit is None or cursor.targets:
        return "news", CUT_SHORT
    if cursor.commit == tip and record.label == label:
        return "unchanged", None
    return "news", LABEL if cursor.commit == tip else None


def _without_commits(record: SourceRecord) -> tuple[Action, str | None]:
    if record.cursor.commit or record.cursor.last_commit:
        return "unavailable", "it has no commit any more, though some of it is held"
    return ("unchanged", None) if record.state == "current" else ("new", "it has no commit")
