"""A whole thread, or the session around a message, in order (spec 6.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from search.conversation import Message, messages_of, session
from search.errors import UsageError
from search.lookups import Ground, on_ground
from search.more_requests import ThreadAsk
from search.passages import MOST, Stored, StoredPassages
from search.reader import Reader
from search.scope import Scope
from search.settings import Settings
from search.sources import Source

_WINDOWS = 200
"""Windows of a timeline looked at on either side of a message."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread (``root`` is its event id) or a session (``root`` None).

    ``turns`` are numbered within the whole thread or session: those given are in order, with the
    message that was ``asked`` for among them. ``before`` and ``after`` tell whether there are more.
    """

    source: Source
    root: str | None
    asked: str
    turns: tuple[tuple[int, Message], ...]
    before: bool = False
    after: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The answer; ``conversation`` is None when nothing stored has that id."""

    id: str
    conversation: Conversation | None = None
    unavailable: Mapping[str, str] = field(default_factory=dict)
    looked_in: Mapping[str, datetime | None] = field(default_factory=dict)


def thread(ask: ThreadAsk, *, reader: Reader, settings: Settings) -> Found:
    """The thread that a message is in or the root of; else the session around it.

    Raises:
        UsageError: the id is that of a file's or commit's passage.
    """
    scope = Scope(corpus="chat")

    def look(ground: Ground) -> Found:
        if ground.resolved is None or not ground.asked.sources:
            return Found(ask.id, None, ground.unavailable)
        passages = reader.passages(ground.resolved.name)
        found = _conversation(ask, passages, ground.asked.sources)
        if found is None and not ask.id.startswith("$"):
            _refuse_other_kinds(ask.id, passages)
        return Found(ask.id, found, ground.unavailable, ground.looked_in)

    return on_ground(scope, reader, settings, look)


def _conversation(
    ask: ThreadAsk, passages: StoredPassages, sources: Mapping[str, Source]
) -> Conversation | None:
    held, event = _held(ask.id, passages, [*sources])
    root = held.properties["thread"] if held else ""
    if not root:
        is_event = ask.id.startswith("$")
        threads = passages.of_thread([*sources], event, 1) if is_event else []
        if not threads and held is None:
            return None
        root = event if threads else ""
        held = held or threads[0]
    if held is None:
        return None
    source = sources[held.properties["source"]]
    messages = (
        _thread(root, source.id, passages)
        if root
        else session(_around(held, passages), event, ask.gap)
    )
    if not any(message.turn.event == event for message in messages):
        event = messages[0].turn.event  # a root that is not stored any more: the thread is
    return _cut(Conversation(source, root or None, event, ()), messages, ask.limit)


def _held(
    identifier: str, passages: StoredPassages, sources: Sequence[str]
) -> tuple[Stored | None, str]:
    """A window that holds what is asked for, and the event that is meant."""
    if identifier.startswith("$"):
        return next(iter(passages.holding(sources, [identifier])), None), identifier
    stored = passages.by_ids([identifier]).get(identifier)
    if stored is None or stored.properties["source"] not in sources:
        return None, ""
    return stored, messages_of([(stored.id, stored.properties)])[0].turn.event


def _thread(root: str, source: str, passages: StoredPassages) -> list[Message]:
    windows = [
        *passages.holding([source], [root]),
        *passages.of_thread([source], root, MOST),
    ]
    messages = messages_of((stored.id, stored.properties) for stored in windows)
    return [m for m in messages if root in (m.thread, m.turn.event)]


def _around(held: Stored, passages: StoredPassages) -> list[Message]:
    windows = [
        held,
        *passages.beside(held, _WINDOWS, later=False),
        *passages.beside(held, _WINDOWS, later=True),
    ]
    return messages_of((stored.id, stored.properties) for stored in windows)


def _cut(conversation: Conversation, messages: Sequence[Message], limit: int) -> Conversation:
    """At most ``limit`` of the messages, those around the one asked for."""
    events = [message.turn.event for message in messages]
    at = events.index(conversation.asked)
    first = max(0, min(at - limit // 2, len(messages) - limit))
    turns = [*enumerate(messages, start=1)][first : first + limit]
    return Conversation(
        conversation.source,
        conversation.root,
        conversation.asked,
        tuple(turns),
        before=first > 0,
        after=first + limit < len(messages),
    )


def _refuse_other_kinds(identifier: str, passages: StoredPassages) -> None:
    stored = passages.by_ids([identifier]).get(identifier)
    if stored is not None and stored.properties["kind"] != "window":
        raise UsageError("id", "a file or commit is in no thread", "Use get for its neighbours.")
