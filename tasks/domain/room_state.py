"""What a room's state says, read with care: anything in it may be of any shape (spec 3.3)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tasks.chat_ports import RawEvent

MEMBER: Final = "m.room.member"


def fault_of(state: Sequence[RawEvent], user: str) -> str:
    """What is missing in the state or is not as it must be, "" if all can be checked."""
    for event in state:
        whole = (
            isinstance(event, Mapping)
            and isinstance(event.get("type"), str)
            and isinstance(event.get("state_key"), str)
            and isinstance(event.get("sender"), str)
            and isinstance(event.get("content"), Mapping)
        )
        if not whole:
            return "an event is malformed"
    if not any(event["type"] == "m.room.create" and not event["state_key"] for event in state):
        return "there is no create event"
    ours = [e for e in state if e["type"] == MEMBER and e["state_key"] == user]
    if not ours or ours[0]["content"].get("membership") != "join":
        return "our own membership is not join"
    if not all(
        isinstance(name, str) for name in _named(content_of(state, "m.room.canonical_alias"))
    ):
        return "an alias is malformed"
    return ""


def content_of(state: Sequence[RawEvent], kind: str) -> Mapping[str, Any]:
    """The content of the room's one state event of a type, empty for none."""
    found = (
        event["content"] for event in state if event["type"] == kind and not event["state_key"]
    )
    return next(found, {})


def _named(canonical: Mapping[str, Any]) -> Iterator[object]:
    """All that a canonical alias event names, of whatever type."""
    if canonical.get("alias") is not None:
        yield canonical["alias"]
    others = canonical.get("alt_aliases")
    yield from others if isinstance(others, list) else [] if others is None else [others]


def aliases_of(state: Sequence[RawEvent], directory: Sequence[str]) -> list[str]:
    """Every alias, the canonical one first."""
    named = [string(name) for name in _named(content_of(state, "m.room.canonical_alias"))]
    for event in state:
        listed = event["content"].get("aliases") if event["type"] == "m.room.aliases" else None
        named += map(string, listed if isinstance(listed, list) else ())
    return [name for name in dict.fromkeys([*named, *sorted(directory)]) if name]


def past_aliases_of(state: Sequence[RawEvent]) -> list[str]:
    """What the canonical alias was before: an upgrade takes it to the new room, the talk stays."""
    return [
        string(name)
        for event in state
        if event["type"] == "m.room.canonical_alias"
        for before in _previous(event)
        for name in _named(before)
    ]


def marks_direct(member: RawEvent) -> bool:
    """Whether a member event says, or said before its last change, that the chat is direct."""
    contents = (member.get("content"), *_previous(member))
    marks = [content.get("is_direct") for content in contents if isinstance(content, Mapping)]
    return any(mark not in (None, False) for mark in marks)


def _previous(event: RawEvent) -> list[Mapping[str, Any]]:
    """The content before this one, wherever a homeserver puts it."""
    unsigned = event.get("unsigned")
    places = (event, unsigned if isinstance(unsigned, Mapping) else {})
    contents = (place.get("prev_content") for place in places)
    return [content for content in contents if isinstance(content, Mapping)]


def string(value: object) -> str:
    """The value if it is a string, else ""."""
    return value if isinstance(value, str) else ""
