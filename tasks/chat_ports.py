"""The ports of chat: the homeserver as the reader sees it, and the stored windows of a room.

Events are raw JSON as the client-server API gives them, bundled edits and all: a library's parsing
would lose some of it (M22, M24, M25). Fakes live in ``tests/support``; a contract suite runs over
the fake and over a real homeserver.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from search.passage import Turn
from tasks.ports import Vectors

RawEvent = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """Who the reader is and where it stands, in three answers of the homeserver.

    ``user`` is what whoami says; ``joined`` are the ids of the rooms it is in; ``direct`` the rooms
    that its ``m.direct`` account data names.
    """

    user: str
    joined: frozenset[str]
    direct: frozenset[str]


@dataclass(frozen=True, slots=True)
class News:
    """What one ``/sync`` says: the stream token reached, and rooms with any event since."""

    next: str
    rooms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Page:
    """Events in the order of the answer, and the token to go on from, None at the end (M01)."""

    events: tuple[RawEvent, ...]
    next: str | None


class Homeserver(Protocol):
    """The homeserver, asked as the configured reader, by GET only (spec 3.1).

    Every method raises ``HomeserverUnreachable`` (transient: no answer, time-out, 5xx, 429 beyond
    the patience) or ``HomeserverRefused`` (permanent: 401, 403, what is no Matrix answer).
    """

    @property
    def identity(self) -> str:
        """``<base url> as <user id>``: whose rooms the ledger holds (spec 3.5)."""

    def standing(self) -> Standing:
        """Who we are and which rooms we are in."""

    def news(self, since: str | None) -> News:
        """One ``/sync`` without waiting; with ``since`` None all joined rooms have news."""

    def room(self, room: str) -> "RoomHistory":
        """The room's history; nothing is asked yet."""

    def close(self) -> None:
        """Ends connections and the event loop."""


class RoomHistory(Protocol):
    """One room, as the homeserver shows it to the reader."""

    def state(self) -> list[RawEvent]:
        """All current state events, members who left included."""

    def member_events(self) -> Iterator[RawEvent]:
        """Every member event that we may see, newest first, each with its content before."""

    def aliases(self) -> list[str]:
        """The aliases in this homeserver's directory, also those that no event names."""

    def membership(self) -> str:
        """Our own membership: ``join``, ``invite``, ``leave``, ``ban``, ``knock`` or "" unknown."""

    def back(self, start: str) -> Page:
        """A page of history before the token ``start``, newest first."""

    def forward(self, start: str) -> Page:
        """A page of what came after the token ``start``, oldest first."""

    def events(self, ids: Sequence[str]) -> dict[str, RawEvent | None]:
        """Each event as it is now, its newest edit bundled; None: there is none for us.

        None is given only when the homeserver says so about that very event (M_NOT_FOUND, or
        M_FORBIDDEN while the room itself answers), never for a failure.
        """


@dataclass(frozen=True, slots=True)
class StoredWindow:
    """A window as the store has it: enough to find its segment and see what differs."""

    id: str
    thread: str
    segment: str
    events: tuple[str, ...]
    edits: tuple[str, ...]
    start: datetime
    end: datetime
    fingerprint: str
    rules: str
    ingested_at: datetime


class WindowIndex(Protocol):
    """Finds the stored windows of a room that an event touches."""

    def holding(self, source: str, events: Sequence[str]) -> list[StoredWindow]:
        """Windows that hold one of these events, or a text from one of these edits."""

    def neighbours(self, source: str, thread: str, at: datetime) -> list[StoredWindow]:
        """All windows of the segments on either side of a moment of a thread.

        That is: of the last segment with a window that starts at or before it, and of the first
        with one that starts after it.
        """

    def segments(self, source: str, thread: str, names: Sequence[str]) -> list[StoredWindow]:
        """All windows of these segments of a thread."""

    def between(
        self, source: str, thread: str | None, first: datetime, last: datetime
    ) -> list[StoredWindow]:
        """Windows of a thread (None: of all) whose span meets the closed interval."""

    def windows(self, source: str) -> Iterator[StoredWindow]:
        """All windows of a room, in no order, with bounded memory."""

    def held(self, ids: Sequence[str]) -> Iterator[tuple[tuple[Turn, ...], Vectors]]:
        """The turns of these windows with their vectors, one per part in order (spec 4.6)."""
