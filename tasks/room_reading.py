"""What a step remembers of the events that it reads, beside their texts.

An edit can take a text away: it makes a picture of a message, or a purge covers it. Once such an
edit is redacted the homeserver no longer says what it was an edit of, and no window shows that
either. So the ledger keeps, for each room, the edits in force that leave no text, and the messages
that are theirs (spec 4.5).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from tasks.chat_ports import RawEvent
from tasks.domain.messages import Message, Seen, seen
from tasks.domain.purges import covered
from tasks.ports import Ledger
from tasks.room_context import RoomContext

PURGED = "purged"
UNCOVERED = "older than what is covered"
HIDING = "hiding-edits"
"""The ledger's kind of document: edit → message, by event ids, for one room."""


@dataclass(slots=True)
class Reading:
    """Turns raw events into messages that may be held.

    ``senders`` are the senders of all events read so far, ``hiding`` the edits that left no text.
    Messages before ``start`` are none of ours.
    """

    context: RoomContext
    start: datetime | None = None
    senders: dict[str, str] = field(default_factory=dict)
    hiding: dict[str, str] = field(default_factory=dict)

    def seen(self, raw: RawEvent) -> Seen:
        """What a raw event is to us."""
        what = seen(raw, notices=self.context.settings.matrix.notices)
        if what.event:
            self.senders[what.event] = str(raw.get("sender") or "")
        return what

    def kept(self, what: Seen) -> tuple[Message | None, str | None]:
        """The message as it may be held, and why there is none."""
        message = what.message
        if message is None:
            self._hides(what.edit, what.event)
            return None, what.skipped
        if self.start is not None and message.at < self.start:
            return None, UNCOVERED
        purges = self.context.purges
        if covered(message, purges):
            if not covered(replace(message, edit=""), purges):
                self._hides(message.edit, message.event)
            return None, PURGED
        return replace(message, body=self.context.rules.puppets.quoted(message.body)), None

    def message(self, raw: RawEvent) -> Message | None:
        """The message that an event is, as it may be held."""
        return self.kept(self.seen(raw))[0]

    def hidden(self, edits: Iterable[str]) -> set[str]:
        """The messages whose text these edits took away, as far as the ledger tells."""
        asked = list(edits)
        known = hiding_edits(self.context.store.ledger, self.context.source) if asked else {}
        return {known[edit] for edit in asked if edit in known}

    def remember(self) -> None:
        """Puts what was found into the ledger; to be done before the cursor moves."""
        ledger, source = self.context.store.ledger, self.context.source
        if not self.hiding:
            return
        known = hiding_edits(ledger, source)
        if not self.hiding.items() <= known.items():
            ledger.put_document(HIDING, json.dumps(known | self.hiding, sort_keys=True), source)

    def _hides(self, edit: str, event: str) -> None:
        if edit:
            self.hiding[edit] = event


def hiding_edits(ledger: Ledger, source: str) -> dict[str, str]:
    """What the ledger keeps of a room."""
    found: dict[str, str] = json.loads(ledger.document(HIDING, source) or "{}")
    return found


def forget_hiding_edits(ledger: Ledger, source: str) -> None:
    """Removes it, with all else of a room."""
    ledger.forget_document(HIDING, source)
