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
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Literal

from search.passage import passage_id

State = Literal["new", "current", "refreshing", "deleting", "failed"]
Phase = Literal["files", "commits", "deletes"]
RoomPhase = Literal["back", "sweep", "forward"]


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
class RoomCursor:
    """What the collection holds of a room (spec 2.1, 4.8).

    ``stream`` is the stream token up to which every event was processed, ``event`` the last one of
    them, of any type. ``version`` names the rules that the held windows follow. While a run is on
    its way ``phase`` says what it does, ``page`` where it goes on, and ``target`` is the token that
    becomes ``stream`` when it arrives::

        first read, or changed rules:  back ── walks from ``target`` to the start of the room
                                       sweep ─ reads again what older rules or a purge left
        then, and else:                forward ─ from ``stream`` until nothing is left

    ``since`` is the UTC time at which a walk back began; ``again`` says that the run was cut short
    and went on with an older ``target``: another way forward follows. ``purges`` are the purges
    that are done when the run has swept. ``covered`` is the UTC time from which on messages are
    held, "" for all of them.
    """

    stream: str | None = None
    event: str = ""
    version: str = ""
    phase: RoomPhase | None = None
    page: str = ""
    target: str | None = None
    since: str = ""
    again: bool = False
    purges: tuple[str, ...] = ()
    covered: str = ""


Cursor = RepoCursor | RoomCursor


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """The ledger's one record of a source.

    ``identity`` is the address it is a clone of, without user or token, or the homeserver and the
    reader of a room. A repository has a ``cursor``, a room (``chat:<room id>``) a ``room`` cursor,
    an ``alias``, a ``name``, and the room that it replaced (``predecessor``). ``reason`` says why
    it is not current; ``read`` counts the events of its last run by what became of them (spec 3.6).
    Times are UTC.
    """

    source: str
    state: State = "new"
    cursor: RepoCursor = RepoCursor()
    room: RoomCursor = RoomCursor()
    identity: str = ""
    alias: str = ""
    name: str = ""
    predecessor: str = ""
    admission: str = ""
    read: Mapping[str, int] = field(default_factory=dict)
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
        room = known_fields(RoomCursor, data.get("room") or {})
        data["room"] = RoomCursor(**room | {"purges": tuple(room.get("purges", ()))})
        for name in ("last_attempt", "last_success"):
            if data.get(name):
                data[name] = datetime.fromisoformat(data[name])
        return cls(**data)

    @property
    def place(self) -> Cursor:
        """The cursor of this kind of source."""
        return self.room if self.source.startswith("chat:") else self.cursor

    def at(self, cursor: Cursor) -> "SourceRecord":
        """The same record with another cursor."""
        if isinstance(cursor, RoomCursor):
            return replace(self, room=cursor)
        return replace(self, cursor=cursor)

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


@dataclass(frozen=True, slots=True)
class ReaderRecord:
    """Whose rooms the ledger holds, and stream tokens of ``/sync`` (spec 3.5, 4.10).

    ``reached`` is the token of the newest answer, ``since`` that from which the next one is asked
    for: it moves only when every room that there was news of was done or noted as failed.
    """

    identity: str = ""
    since: str | None = None
    reached: str | None = None

    def as_json(self) -> str:
        """For the ledger."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "ReaderRecord":
        """From the ledger."""
        return cls(**known_fields(cls, json.loads(text)))


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One room of a run's journal: in, or out and why (spec 3.6). Never a member's name.

    ``rules`` names the rules of admission that decided; "" if they could not. ``lasting``: an
    event of the past refuses the room, so that nothing new in it can change that.
    """

    room: str
    alias: str
    admitted: bool
    reason: str = ""
    rules: str = ""
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Journal:
    """What the last run found of the reader's rooms, at a UTC time."""

    at: datetime
    entries: tuple[JournalEntry, ...] = ()

    def as_json(self) -> str:
        """For the ledger."""
        return json.dumps(asdict(self), default=_encode, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Journal":
        """From the ledger."""
        data = json.loads(text)
        return cls(
            datetime.fromisoformat(data["at"]),
            tuple(JournalEntry(**known_fields(JournalEntry, each)) for each in data["entries"]),
        )


def _encode(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(type(value).__name__)
