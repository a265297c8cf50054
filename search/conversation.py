"""Windows of chat put together again: messages in order, cut ones whole (spec 4.3). Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from search.collection import turns_of
from search.passage import Turn


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its ``turn`` with the whole body, where it stands, and its (first) passage."""

    turn: Turn
    source: str
    thread: str
    passage: str

    @property
    def key(self) -> tuple[datetime, str]:
        """What orders messages within a timeline, and tells two apart."""
        return self.turn.at, self.turn.event


def window_order(properties: Mapping[str, Any]) -> tuple[datetime, str, int]:
    """What orders the windows of a timeline: by first message, then by pieces of it."""
    first = turns_of(properties)[0]
    return first.at, first.event, int(properties["part"])


def messages_of(windows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Message]:
    """The messages of some windows (id, stored properties), in order.

    The pieces of a message that was cut follow each other in the order of their windows.
    """
    found: dict[str, Message] = {}
    by_id = dict(windows)
    for identifier, properties in sorted(by_id.items(), key=lambda each: window_order(each[1])):
        for turn in turns_of(properties):
            known = found.get(turn.event)
            if known is None:
                message = Message(turn, properties["source"], properties["thread"], identifier)
                found[turn.event] = message
            else:
                whole = replace(known.turn, body=known.turn.body + turn.body)
                found[turn.event] = replace(known, turn=whole)
    return sorted(found.values(), key=lambda message: message.key)


def session(messages: Sequence[Message], event: str, gap: timedelta) -> list[Message]:
    """The run of messages around ``event`` with no longer pause than ``gap`` between two."""
    at = next(place for place, message in enumerate(messages) if message.turn.event == event)
    first = last = at
    while first and messages[first].turn.at - messages[first - 1].turn.at <= gap:
        first -= 1
    while last + 1 < len(messages) and messages[last + 1].turn.at - messages[last].turn.at <= gap:
        last += 1
    return list(messages[first : last + 1])
