"""Raw events as a homeserver gives them, with no more in them than a test needs to see."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tasks.domain.messages import Message

ROOM = "!room:example.org"
ALICE, BOB, READER = "@alice:example.org", "@bob:example.org", "@reader:example.org"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
START_MS = int(START.timestamp() * 1000)


def raw_event(
    event: str = "$event", content: Mapping[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    """An ``m.room.message`` of Alice's, unless told otherwise."""
    raw = {
        "event_id": event,
        "type": "m.room.message",
        "sender": ALICE,
        "origin_server_ts": START_MS,
        "room_id": ROOM,
        "content": text_content("hello") if content is None else content,
    }
    return raw | changes


def text_content(body: str, msgtype: str = "m.text", **more: Any) -> dict[str, Any]:
    """A message's content."""
    return {"msgtype": msgtype, "body": body} | more


def edit_event(
    event: str, original: str, body: str, sender: str = ALICE, **changes: Any
) -> dict[str, Any]:
    """An edit with the starred fallback that clients send."""
    content = text_content(f"* {body}") | {
        "m.new_content": text_content(body),
        "m.relates_to": {"rel_type": "m.replace", "event_id": original},
    }
    return raw_event(event, content, sender=sender, **changes)


def with_edit(raw: dict[str, Any], edit: Mapping[str, Any] | None) -> dict[str, Any]:
    """The event with its newest edit bundled, as a homeserver gives it."""
    return raw | {"unsigned": {"m.relations": {"m.replace": edit}}}


def redacted(raw: dict[str, Any]) -> dict[str, Any]:
    """The event after its redaction."""
    because = raw_event("$redaction", {}, type="m.room.redaction", redacts=raw["event_id"])
    return raw | {"content": {}, "unsigned": {"redacted_because": because}}


def state_event(
    kind: str, content: Mapping[str, Any], key: str = "", sender: str = ALICE, **changes: Any
) -> dict[str, Any]:
    """A state event."""
    return raw_event(f"${kind}-{key}", content, type=kind, state_key=key, sender=sender, **changes)


def message(
    event: str, body: str = "hello", sender: str = ALICE, minutes: float = 0, **changes: Any
) -> Message:
    """A message of the main timeline, so many minutes after the start."""
    at = START + timedelta(minutes=minutes)
    return Message(event, sender, at, changes.pop("thread", ""), body, **changes)
