"""What the ledger says of each source, as both sides read it (spec 2.1, 2.2).

A record stands for one source of one collection::

    cursor.commit ──────────── what the collection holds for sure
         │
         │  a run has begun: targets = (T,)      written: passages of T, not yet of all
         │                                       paths up to `after` are T's already
         ▼
    cursor.commit = T, targets = ()              every write and delete was acknowledged

Edges: ``commit`` None and no ``last_commit`` means nothing was ever held. ``commit`` None with a
``last_commit`` means the cursor was set aside before a delete (state ``deleting``): what the
collection holds lies between the two and is listed anew by the next run (spec 2.3).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Literal

from search.passage import passage_id

State = Literal["new", "current", "refreshing", "deleting", "failed"]
Phase = Literal["files", "commits", "deletes"]


@dataclass(frozen=True, slots=True)
class Position:
    """How far a run came: in ``files`` the last path done, in ``commits`` the count done."""

    phase: Phase
    after: str = ""
    done: int = 0


@dataclass(frozen=True, slots=True)
class RepoCursor:
    """What the collection holds of a repository.

    ``commit`` is held whole. ``targets`` are commits that unfinished runs were writing, newest
    last, noted at the UTC times ``since``; ``position`` is how far the last came. ``rules`` and
    ``admission`` are the versions of the cutting and of the choice of files that the held passages
    follow.
    """

    commit: str | None = None
    last_commit: str | None = None
    targets: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    position: Position | None = None
    rules: str = ""
    admission: str = ""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """The ledger's one record of a source.

    ``identity`` is the address it is a clone of, without user or token. ``reason`` says why it is
    not current. Times are UTC.
    """

    source: str
    state: State = "new"
    cursor: RepoCursor = RepoCursor()
    identity: str = ""
    label: str | None = None
    reason: str | None = None
    passages: int = 0
    last_attempt: datetime | None = None
    last_success: datetime | None = None

    def as_json(self) -> str:
        """For the ledger."""
        return json.dumps(asdict(self), default=_encode, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "SourceRecord":
        """From the ledger; keys that a newer version wrote are passed over."""
        data = known_fields(cls, json.loads(text))
        cursor = known_fields(RepoCursor, data.get("cursor") or {})
        position = known_fields(Position, cursor.get("position") or {})
        cursor["position"] = Position(**position) if position else None
        for name in ("targets", "since"):
            cursor[name] = tuple(cursor.get(name, ()))
        data["cursor"] = RepoCursor(**cursor)
        for name in ("last_attempt", "last_success"):
            if data.get(name):
                data[name] = datetime.fromisoformat(data[name])
        return cls(**data)

    def commit_of(self, ingested_at: datetime) -> str | None:
        """The commit at which a passage stored at that time stands, also in the middle of a run.

        What was stored since a run noted its target is that target's. What is older stands at the
        held commit: it is the same in both, or gone from the target and not deleted yet (spec 5.3).
        """
        cursor = self.cursor
        for target, since in zip(reversed(cursor.targets), reversed(cursor.since), strict=False):
            if ingested_at >= datetime.fromisoformat(since):
                return target
        return cursor.commit or cursor.last_commit

    def failed(self, reason: str) -> "SourceRecord":
        """The same cursor, marked failed: the work that was done stays done."""
        state: State = "deleting" if self.state == "deleting" else "failed"
        return replace(self, state=state, reason=reason, last_attempt=datetime.now(UTC))


def known_fields(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """What of ``data`` the dataclass ``kind`` knows: a newer version may have written more."""
    names = {item.name for item in fields(kind)}
    return {key: value for key, value in data.items() if key in names}


def record_id(kind: str, collection: str, source: str = "") -> str:
    """The ledger's id of a record: entries are keyed by (kind, collection, source)."""
    return passage_id("ledger", kind, collection, source)


def _encode(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(type(value).__name__)
