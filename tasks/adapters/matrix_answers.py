"""What the client-server API's answers hold, checked: pure functions from JSON to plain data.

A wrong shape is refused as a whole, never read as an empty answer (spec 2.7). Only a single bad
event is let through, as an event without a type, so that one cannot stop a room.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tasks.adapters.matrix_errors import WrongShape
from tasks.chat_ports import News, Page, RawEvent


def user(answer: Any) -> str:
    """The user id of a whoami."""
    return _text(_object(answer, "whoami").get("user_id"), "user_id of whoami")


def joined(answer: Any) -> frozenset[str]:
    """The room ids of joined_rooms."""
    rooms = _list(_object(answer, "joined_rooms").get("joined_rooms"), "joined_rooms")
    return frozenset(_text(room, "a joined room") for room in rooms)


def direct(answer: Any) -> frozenset[str]:
    """The rooms that the content of ``m.direct`` names, whoever with.

    Clients write this one, so parts that are no room ids are passed over.
    """
    lists = [rooms for rooms in _object(answer, "m.direct").values() if isinstance(rooms, list)]
    return frozenset(room for rooms in lists for room in rooms if isinstance(room, str))


def news(answer: Any, *, first: bool) -> News:
    """A sync's stream token and the joined rooms with an event in it, or all if ``first``."""
    sync = _object(answer, "sync")
    rooms = _object(_object(sync.get("rooms", {}), "rooms").get("join", {}), "rooms.join")
    return News(
        next=_text(sync.get("next_batch"), "next_batch"),
        rooms=frozenset(room for room, content in rooms.items() if first or _new(content)),
    )


def page(answer: Any, start: str) -> Page:
    """A page of messages that was asked for from ``start``."""
    content = _object(answer, "messages")
    found = events(content.get("chunk"), "chunk")
    end = content.get("end")
    if end is None:
        return Page(found, None)
    if _text(end, "end") == start:  # some servers never leave it out
        if found:
            raise WrongShape("the end of a page is its start")
        return Page(found, None)
    return Page(found, end)


def events(answer: Any, what: str) -> tuple[RawEvent, ...]:
    """A list of events; what is no object becomes an event without anything."""
    return tuple(each if isinstance(each, dict) else {} for each in _list(answer, what))


def around(answer: Any) -> Iterable[RawEvent]:
    """The events of a context, in no order."""
    context = _object(answer, "context")
    yield from events(context.get("events_before", []), "events_before")
    yield from events(context.get("events_after", []), "events_after")
    yield event(context.get("event"))


def event(answer: Any) -> RawEvent:
    """One event."""
    found = _object(answer, "event")
    _text(found.get("event_id"), "event_id")
    return found


def aliases(answer: Any) -> list[str]:
    """The aliases of a room."""
    names = _list(_object(answer, "aliases").get("aliases"), "aliases")
    return [_text(name, "an alias") for name in names]


def membership(answer: Any) -> str:
    """The membership in the content of a member event."""
    return _text(_object(answer, "member event").get("membership"), "membership")


def membership_in_sync(answer: Any, room: str, user: str) -> str:
    """Our membership in a room that we are not in, "" if a sync does not know it."""
    rooms = _object(_object(answer, "sync").get("rooms", {}), "rooms")
    for kind in ("invite", "knock"):
        if room in _object(rooms.get(kind, {}), kind):
            return kind
    left = _object(rooms.get("leave", {}), "rooms.leave")
    if room not in left:
        return ""
    timeline = _object(_object(left[room], "a room of sync").get("timeline", {}), "timeline")
    for each in reversed(events(timeline.get("events", []), "timeline.events")):
        if each.get("type") == "m.room.member" and each.get("state_key") == user:
            return membership(each.get("content"))
    return "leave"


def versions(answer: Any) -> tuple[str, ...]:
    """The versions of the client-server API that a homeserver speaks."""
    found = _list(_object(answer, "versions").get("versions"), "versions")
    return tuple(_text(each, "a version") for each in found)


def invites(answer: Any) -> frozenset[str]:
    """The rooms of a sync to which we are invited."""
    rooms = _object(_object(answer, "sync").get("rooms", {}), "rooms")
    return frozenset(_object(rooms.get("invite", {}), "rooms.invite"))


def _new(content: Any) -> bool:
    room = _object(content, "a room of sync")
    timeline = _object(room.get("timeline", {}), "timeline")
    state = _object(room.get("state", {}), "state")
    return bool(timeline.get("events") or timeline.get("limited") or state.get("events"))


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise WrongShape(f"{what} is no object")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise WrongShape(f"{what} is no list")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise WrongShape(f"{what} is no text")
    return value
