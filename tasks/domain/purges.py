"""Steward's purges: what is never to be held, whatever the homeserver still shows (spec 4.7)."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from tasks.domain.messages import Message


@dataclass(frozen=True, slots=True)
class Purge:
    """A tombstone: messages of ``room`` between two moments, both inclusive, UTC.

    Of everybody, or of one ``sender``; or the one ``event`` alone, whenever it was. ``applied`` is
    the last moment at which everything stored was gone through for it, "" never.
    """

    room: str
    first: datetime | None = None
    last: datetime | None = None
    sender: str = ""
    event: str = ""
    applied: str = ""

    @property
    def id(self) -> str:
        """Twelve hex digits over what it covers: saying it twice is one purge."""
        key = [self.room, str(self.first), str(self.last), self.sender, self.event]
        return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:12]

    @property
    def source(self) -> str:
        """Its cursor's key in the ledger (spec 2.1)."""
        return f"chat-purge:{self.id}"

    def covers(self, message: Message) -> bool:
        """Whether the message is one that must not be held."""
        if self.event:
            return self.event in (message.event, message.edit)
        if self.sender and self.sender != message.sender:
            return False
        return (self.first is None or self.first <= message.at) and (
            self.last is None or message.at <= self.last
        )

    def may_cover(self, start: datetime, end: datetime, events: tuple[str, ...]) -> bool:
        """Whether a window of this span with these events can hold a message that it covers."""
        if self.event:
            return self.event in events
        return (self.first is None or self.first <= end) and (
            self.last is None or start <= self.last
        )

    def as_json(self) -> str:
        """For the ledger and for the file of tombstones."""
        data = asdict(self)
        for name in ("first", "last"):
            data[name] = data[name].isoformat() if data[name] else None
        return json.dumps(data, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Purge":
        """From the ledger, or a line of the file."""
        data: Mapping[str, Any] = json.loads(text)
        known = {item.name: data[item.name] for item in fields(cls) if item.name in data}
        for name in ("first", "last"):
            if known.get(name):
                known[name] = datetime.fromisoformat(known[name])
        return cls(**known)


def covered(message: Message, purges: Iterable[Purge]) -> bool:
    """Whether any purge covers the message."""
    return any(purge.covers(message) for purge in purges)
