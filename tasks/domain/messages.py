"""From raw events to messages: the text in force, threads, replies, edits, redactions (spec 4.5).

The homeserver is the truth: an event as it gives it now has its newest edit bundled and says
whether it was redacted. So an edit or a redaction that comes by is never applied to anything; it
names the event whose stored form it may have changed, and that one is read again (spec 4.6).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tasks.chat_ports import RawEvent
from tasks.domain.bodies import MESSAGE_TYPES, MalformedContent, answers, text_of

ENCRYPTED: Final = "encrypted"
REDACTED: Final = "redacted"
UNKNOWN_TYPE: Final = "unknown type"
MALFORMED: Final = "malformed"
NO_TEXT: Final = "no text"
NOTICE: Final = "notice"
STATE: Final = "state"
FOREIGN_EDIT: Final = "foreign edit"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOO_LATE = datetime(9999, 1, 1, tzinfo=UTC)  # room for arithmetic up to the last date there is
_LONGEST_ID = 255  # characters of an event or user id


@dataclass(frozen=True, slots=True)
class Message:
    """A message with the text in force; ``thread`` is the root's id, "" in the main timeline.

    ``event``, ``sender``, ``at`` (UTC, to the millisecond) and the relations are the original's.
    ``edit`` is the event whose text this is, "" for the original's own; ``reply_to`` the event
    that it answers, "" for none.
    """

    event: str
    sender: str
    at: datetime
    thread: str
    body: str
    edit: str = ""
    reply_to: str = ""

    @property
    def order(self) -> tuple[datetime, str]:
        """Its place in its timeline (spec 4.3)."""
        return self.at, self.event


@dataclass(frozen=True, slots=True)
class Seen:
    """What a raw event is to us.

    ``targets`` are events whose stored form it may have changed. ``skipped`` is why the event is
    no message; None for a message, and for edits and redactions, which are not lost. ``edit`` is
    the edit in force that leaves a message without a text, "" for none.
    """

    event: str
    message: Message | None = None
    targets: tuple[str, ...] = ()
    skipped: str | None = None
    edit: str = ""


def seen(raw: RawEvent, *, notices: bool) -> Seen:
    """What ``raw`` is, as the homeserver gives it now; never an exception.

    ``notices`` says whether ``m.notice`` is taken.
    """
    event, kind = _identifier(_get(raw, "event_id")), _get(raw, "type")
    checks = (
        (not event or not isinstance(kind, str), MALFORMED),
        (_get(raw, "state_key") is not None, STATE),
        (is_redacted(raw), REDACTED),
        (kind == "m.room.encrypted", ENCRYPTED),
        (kind not in ("m.room.message", "m.room.redaction"), UNKNOWN_TYPE),
    )
    skipped = next((reason for applies, reason in checks if applies), None)
    if skipped:
        return Seen(event, targets=(event,) if skipped == REDACTED else (), skipped=skipped)
    if kind == "m.room.redaction":
        return _aimed(event, _redaction_targets(raw))
    try:
        return _seen_message(raw, event, notices=notices)
    except MalformedContent:
        return Seen(event, skipped=MALFORMED)


def edit_of(raw: RawEvent) -> RawEvent | None:
    """The bundled newest edit of an event, if it counts (spec 4.5).

    It does if it replaces just this event, by the same sender, as an ``m.room.message`` with a
    text in ``m.new_content``, and was not redacted itself.
    """
    edit = _mapping(_mapping(_mapping(raw, "unsigned"), "m.relations"), "m.replace")
    content = _mapping(edit, "content")
    if (
        not _identifier(edit.get("event_id"))
        or edit.get("type") != "m.room.message"
        or edit.get("state_key") is not None
        or is_redacted(edit)
        or is_foreign(edit, raw)
        or _replaces(content) != raw.get("event_id")
    ):
        return None
    new = _mapping(content, "m.new_content")
    return (
        edit if isinstance(new.get("body"), str) and isinstance(new.get("msgtype"), str) else None
    )


def is_foreign(edit: RawEvent, original: RawEvent) -> bool:
    """Whether an edit is by another than the original's sender, so that it counts for nothing."""
    return bool(edit.get("sender") != original.get("sender"))


def is_redacted(raw: RawEvent) -> bool:
    """Whether the homeserver says that the event was redacted."""
    unsigned = _mapping(raw, "unsigned")
    return any(unsigned.get(mark) is not None for mark in ("redacted_because", "redacted_by"))


def _seen_message(raw: RawEvent, event: str, *, notices: bool) -> Seen:
    content, sender, at = raw.get("content"), _identifier(raw.get("sender")), time_of(raw)
    if not isinstance(content, Mapping) or not sender.startswith("@") or at is None:
        return Seen(event, skipped=MALFORMED)
    original = _replaces(content)
    if original is not None:
        return _aimed(event, (original,) if original else ())
    edit = edit_of(raw)
    shown: Mapping[str, Any] = edit["content"]["m.new_content"] if edit else content
    by = _identifier(edit["event_id"]) if edit else ""
    text = text_of(shown, is_reply=answers(content))
    if shown["msgtype"] not in MESSAGE_TYPES:
        return Seen(event, skipped=UNKNOWN_TYPE, edit=by)
    if shown["msgtype"] == "m.notice" and not notices:
        return Seen(event, skipped=NOTICE, edit=by)
    if text is None:
        return Seen(event, skipped=NO_TEXT, edit=by)
    thread, reply_to = _relations(content)
    return Seen(event, Message(event, sender, at, thread, text, by, reply_to))


def _aimed(event: str, targets: tuple[str, ...]) -> Seen:
    return Seen(event, targets=targets, skipped=None if targets else MALFORMED)


def _relations(content: Mapping[str, Any]) -> tuple[str, str]:
    """The thread's root and the event answered, each "" for none (M37, M38)."""
    relation = _mapping(content, "m.relates_to")
    reply_to = _identifier(_mapping(relation, "m.in_reply_to").get("event_id"))
    if relation.get("rel_type") != "m.thread":
        return "", reply_to
    root = _identifier(relation.get("event_id"))
    return root, "" if relation.get("is_falling_back") else reply_to


def _replaces(content: Mapping[str, Any]) -> str | None:
    """The event that a content replaces, "" if that is no event id, None if it replaces none."""
    relation = _mapping(content, "m.relates_to")
    if relation.get("rel_type") != "m.replace":
        return None
    return _identifier(relation.get("event_id"))


def _redaction_targets(raw: RawEvent) -> tuple[str, ...]:
    """Up to room version 10 the target stands on the event, from 11 on in its content (M22)."""
    places = (raw.get("redacts"), _mapping(raw, "content").get("redacts"))
    return tuple(dict.fromkeys(target for place in places if (target := _identifier(place))))


def time_of(raw: RawEvent) -> datetime | None:
    """When an event says that it was sent, in UTC; None if it is no such time."""
    stamp = raw.get("origin_server_ts")
    if not isinstance(stamp, int) or isinstance(stamp, bool) or stamp < 0:
        return None
    try:
        at = _EPOCH + timedelta(milliseconds=stamp)
    except OverflowError:
        return None
    return at if at < _TOO_LATE else None


def _get(outer: object, key: str) -> object:
    return outer.get(key) if isinstance(outer, Mapping) else None


def _mapping(outer: object, key: str) -> Mapping[str, Any]:
    inner = _get(outer, key)
    return inner if isinstance(inner, Mapping) else {}


def _identifier(value: object) -> str:
    """An id as it is, "" for what cannot be one."""
    fits = isinstance(value, str) and 1 < len(value) <= _LONGEST_ID and value.isprintable()
    return str(value) if fits else ""
