"""The homeserver in memory: the fake of the ``Homeserver`` port over what a ``FakeCommunity`` did.

It answers as Synapse does: edits bundled with their originals, redacted events stripped, pages in
the order of the room's graph, stream tokens (``s…``) and page tokens (``t…``) apart. Page sizes
are small, so that few events make several pages.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from tasks.chat_ports import News, Page, RawEvent, Standing
from tasks.errors import HomeserverRefused
from tests.support.fake_community import FakeCommunity, FakeRoom, Placed, relation

_BUNDLE_NONE = {"m.replace", "m.annotation"}


class FakeHomeserver:
    """The community as the reader ``name`` sees it.

    Put an error into ``failing`` to make a method fail: by its name (``"news"``, ``"state"``), or
    by name and room (``("back", room)``). ``closed`` says whether it was closed.
    """

    def __init__(self, community: FakeCommunity, name: str, page_events: int = 7) -> None:
        self.community = community
        self.reader = community.mxid(name)
        self.page_events = page_events
        self.failing: dict[str | tuple[str, str], Exception] = {}
        self.closed = False

    @property
    def identity(self) -> str:
        self.check("identity")
        return f"https://fake.test as {self.reader}"

    def standing(self) -> Standing:
        self.check("standing")
        joined = [
            room.id
            for room in self.community.rooms.values()
            if room.membership(self.reader) == "join"
        ]
        direct = self.community.direct.get(self.reader, frozenset())
        return Standing(self.reader, frozenset(joined), direct)

    def news(self, since: str | None) -> News:
        self.check("news")
        after = 0 if since is None else int(since.removeprefix("s"))
        rooms = [
            room.id
            for room in self.community.rooms.values()
            if room.membership(self.reader) == "join"
            and (since is None or any(each.stream > after for each in self.visible(room)))
        ]
        return News(f"s{self.community.stream}", frozenset(rooms))

    def room(self, room: str) -> "FakeHistory":
        return FakeHistory(self, room)

    def close(self) -> None:
        self.closed = True

    def check(self, method: str, room: str = "") -> None:
        """Raises what the method was told to fail with."""
        for key in (method, (method, room)):
            if key in self.failing:
                raise self.failing[key]

    def visible(self, room: FakeRoom) -> list[Placed]:
        """What the reader may see, in the order of arrival."""
        last = None if room.membership(self.reader) == "join" else room.left.get(self.reader)
        return [
            each
            for each in room.placed
            if (self.reader in each.joined or each.visibility in {"shared", "world_readable"})
            and (last is None or each.stream <= last[0])
        ]


class FakeHistory:
    """One room."""

    def __init__(self, homeserver: FakeHomeserver, room: str) -> None:
        self._homeserver = homeserver
        self._room = room

    def state(self) -> list[RawEvent]:
        room = self._open("state")
        if room.membership(self._homeserver.reader) == "join":
            return [_shown(room, each) for each in room.state.values()]
        return [_shown(room, each) for each in room.left[self._homeserver.reader][1].values()]

    def member_events(self) -> Iterator[RawEvent]:
        room = self._open("member_events")
        for each in sorted(self._homeserver.visible(room), key=_order, reverse=True):
            if each.event["type"] == "m.room.member":
                yield _shown(room, each)

    def aliases(self) -> list[str]:
        room = self._open("aliases")
        if room.membership(self._homeserver.reader) != "join":
            raise _forbidden()
        return list(room.aliases)

    def membership(self) -> str:
        self._homeserver.check("membership", self._room)
        room = self._homeserver.community.rooms.get(self._room)
        return room.membership(self._homeserver.reader) if room else ""

    def back(self, start: str) -> Page:
        room = self._open("back")
        bound = _bound(start)
        earlier = [
            each
            for each in sorted(self._homeserver.visible(room), key=_order, reverse=True)
            if (each.stream <= bound[1] if start.startswith("s") else each.order < bound)
        ]
        return self._page(room, earlier)

    def forward(self, start: str) -> Page:
        room = self._open("forward")
        bound = _bound(start)
        later = [
            each
            for each in sorted(self._homeserver.visible(room), key=_order)
            if (each.stream > bound[1] if start.startswith("s") else each.order > bound)
        ]
        return self._page(room, later)

    def events(self, ids: Sequence[str]) -> dict[str, RawEvent | None]:
        room = self._open("events")
        seen = {each.event["event_id"]: each for each in self._homeserver.visible(room)}
        absent = [each for each in ids if each not in seen]
        if absent and room.membership(self._homeserver.reader) != "join":
            raise HomeserverRefused(
                "No such event. This is a fake.", status=404, code="M_NOT_FOUND"
            )
        return {each: _shown(room, seen[each]) if each in seen else None for each in ids}

    def _page(self, room: FakeRoom, placed: list[Placed]) -> Page:
        page = placed[: self._homeserver.page_events]
        end = f"t{page[-1].depth}-{page[-1].stream}" if page else None
        return Page(tuple(_shown(room, each) for each in page), end)

    def _open(self, method: str) -> FakeRoom:
        self._homeserver.check(method, self._room)
        room = self._homeserver.community.rooms.get(self._room)
        reader = self._homeserver.reader
        if room is None or (room.membership(reader) != "join" and reader not in room.left):
            raise _forbidden()
        return room


def _order(placed: Placed) -> tuple[int, int]:
    return placed.order


def _bound(token: str) -> tuple[int, int]:
    if token.startswith("s"):
        return 0, int(token[1:])
    depth, stream = token[1:].split("-")
    return int(depth), int(stream)


def _forbidden() -> HomeserverRefused:
    return HomeserverRefused("Not in that room. This is a fake.", status=403, code="M_FORBIDDEN")


def _shown(room: FakeRoom, placed: Placed) -> RawEvent:
    """The event as clients get it: bundled and, if redacted, with the reason why it is empty."""
    event: dict[str, Any] = deepcopy(placed.event)
    unsigned = event.setdefault("unsigned", {})
    if placed.redaction is not None:
        unsigned.pop("prev_content", None)
        unsigned["redacted_because"] = deepcopy(placed.redaction)
        unsigned["redacted_by"] = placed.redaction["event_id"]
    elif edit := _newest_edit(room, placed):
        unsigned["m.relations"] = {"m.replace": deepcopy(edit)}
    return event


def _newest_edit(room: FakeRoom, original: Placed) -> dict[str, Any] | None:
    event = original.event
    if "state_key" in event or relation(event).get("rel_type") in _BUNDLE_NONE:
        return None
    edits = [
        each.event
        for each in room.placed
        if relation(each.event).get("rel_type") == "m.replace"
        and relation(each.event).get("event_id") == event["event_id"]
        and each.redaction is None
        and (each.event["sender"], each.event["type"]) == (event["sender"], event["type"])
    ]
    return max(edits, key=lambda each: (each["origin_server_ts"], each["event_id"]), default=None)
