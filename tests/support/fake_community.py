"""What people did on a homeserver, in memory: the facts behind ``fake_homeserver``.

The calls are those of ``synapse_community.People``, so a test can be run on either.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.synapse_community import SERVER, Content, encrypted_content, message_content

Event = dict[str, Any]
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
_KEPT_WHEN_REDACTED = {"m.room.member": {"membership"}, "m.room.redaction": {"redacts"}}


@dataclass
class Placed:
    """An event, its place in the server's stream and in the room's graph, and who could see it."""

    event: Event
    stream: int
    depth: int
    joined: frozenset[str]
    visibility: str
    redaction: Event | None = None

    @property
    def order(self) -> tuple[int, int]:
        return self.depth, self.stream


@dataclass
class FakeRoom:
    id: str
    version: int
    placed: list[Placed] = field(default_factory=list)
    state: dict[tuple[str, str], Placed] = field(default_factory=dict)
    aliases: list[str] = field(default_factory=list)
    left: dict[str, tuple[int, dict[tuple[str, str], Placed]]] = field(default_factory=dict)
    """For who left: the stream position and the state at that moment."""

    def membership(self, user: str) -> str:
        member = self.state.get(("m.room.member", user))
        return str(member.event["content"].get("membership", "")) if member else ""

    def find(self, event: str) -> Placed | None:
        return next((each for each in self.placed if each.event["event_id"] == event), None)


class FakeCommunity:
    """Users are named by their local part; every call moves the clock on by a second."""

    def __init__(self) -> None:
        self.rooms: dict[str, FakeRoom] = {}
        self.direct: dict[str, frozenset[str]] = {}
        self.stream = 0
        self.now = FIRST
        self._made = 0

    def mxid(self, name: str) -> str:
        return f"@{name}:{SERVER}"

    def user(self, name: str) -> str:
        return self.mxid(name)

    def room(
        self,
        creator: str,
        *members: str,
        version: str | None = None,
        alias: str | None = None,
        **options: Any,
    ) -> str:
        number = int(version or 12)
        room = FakeRoom(self._id("!") if number > 11 else f"{self._id('!')[:19]}:{SERVER}", number)
        self.rooms[room.id] = room
        create = {"room_version": str(number), **options.get("creation_content", {})}
        self._state(room, creator, "m.room.create", create)
        self._state(room, creator, "m.room.member", {"membership": "join"}, self.mxid(creator))
        rule = {"history_visibility": "shared"}
        self._state(room, creator, "m.room.history_visibility", rule)
        for each in options.get("initial_state", []):
            key = each.get("state_key", "")
            self._state(room, creator, each["type"], each["content"], key)
        if "name" in options:
            self._state(room, creator, "m.room.name", {"name": options["name"]})
        if alias:
            full = self.put_alias(room.id, creator, alias)
            self._state(room, creator, "m.room.canonical_alias", {"alias": full})
        for invited in options.get("invite", []):
            content = {"membership": "invite", "displayname": invited}
            if options.get("is_direct"):
                content["is_direct"] = True
            self._state(room, creator, "m.room.member", content, invited)
        for member in members:
            self.join(room.id, member)
        return room.id

    def join(self, room: str, name: str) -> None:
        self._member(room, name, name, "join")

    def invite(self, room: str, by: str, name: str) -> None:
        self._member(room, by, name, "invite")

    def leave(self, room: str, name: str) -> None:
        self._member(room, name, name, "leave")

    def kick(self, room: str, by: str, name: str) -> None:
        self._member(room, by, name, "leave")

    def ban(self, room: str, by: str, name: str) -> None:
        self._member(room, by, name, "ban")

    def event(
        self, room: str, name: str, kind: str, content: Content, at: datetime | None = None
    ) -> str:
        event = {"type": kind, "sender": self.mxid(name), "content": dict(content)}
        return str(self._place(self.rooms[room], event, at).event["event_id"])

    def send(self, room: str, name: str, content: str | Content, at: datetime | None = None) -> str:
        return self.event(room, name, "m.room.message", message_content(content), at)

    def edit(
        self,
        room: str,
        name: str,
        original: str,
        content: str | Content,
        at: datetime | None = None,
    ) -> str:
        return self.send(room, name, message_content(content, edits=original), at)

    def reply(
        self,
        room: str,
        name: str,
        thread: str,
        content: str | Content,
        at: datetime | None = None,
    ) -> str:
        return self.send(room, name, message_content(content, thread=thread), at)

    def redact(self, room: str, name: str, event: str) -> str:
        redaction = {
            "type": "m.room.redaction",
            "sender": self.mxid(name),
            "content": {"redacts": event},
            "redacts": event,
        }
        placed = self._place(self.rooms[room], redaction)
        target = self.rooms[room].find(event)
        if target is not None:
            target.redaction = placed.event
            kept = _KEPT_WHEN_REDACTED.get(target.event["type"], set())
            content = target.event["content"]
            target.event["content"] = {key: content[key] for key in content if key in kept}
        return str(placed.event["event_id"])

    def late(self, room: str, name: str, content: str | Content, beside: str) -> str:
        """A message that federation brings late: new in the stream, old in the room's graph."""
        event_id = self.send(room, name, content)
        placed, place = self.rooms[room].find(event_id), self.rooms[room].find(beside)
        assert placed
        assert place
        placed.depth = place.depth
        placed.event["origin_server_ts"] = place.event["origin_server_ts"]
        return event_id

    def encrypted(self, room: str, name: str, at: datetime | None = None) -> str:
        return self.event(room, name, "m.room.encrypted", encrypted_content(), at)

    def put_state(
        self,
        room: str,
        name: str,
        kind: str,
        content: Content,
        key: str = "",
        at: datetime | None = None,
    ) -> str:
        return str(self._state(self.rooms[room], name, kind, content, key, at).event["event_id"])

    def put_alias(self, room: str, name: str, alias: str) -> str:  # noqa: ARG002  # as People
        full = f"#{alias}:{SERVER}"
        self.rooms[room].aliases.append(full)
        return full

    def mark_direct(self, name: str, other: str, *rooms: str) -> None:  # noqa: ARG002  # as People
        self.direct[self.mxid(name)] = frozenset(rooms)

    def upgrade(self, room: str, name: str, version: str) -> str:
        predecessor = {"predecessor": {"room_id": room}}
        new = self.room(name, version=version, creation_content=predecessor)
        self.put_state(room, name, "m.room.tombstone", {"body": "", "replacement_room": new})
        return new

    def _member(self, room: str, by: str, name: str, membership: str) -> None:
        content = {"membership": membership, "displayname": name}
        own, user = self.rooms[room], self.mxid(name)
        if membership in {"leave", "ban"} and own.membership(user) == "join":
            self._state(own, by, "m.room.member", content, user)
            own.left[user] = (self.stream, dict(own.state))
        else:
            self._state(own, by, "m.room.member", content, user)

    def _state(
        self,
        room: FakeRoom,
        name: str,
        kind: str,
        content: Content,
        key: str = "",
        at: datetime | None = None,
    ) -> Placed:
        event: Event = {
            "type": kind,
            "sender": self.mxid(name),
            "content": dict(content),
            "state_key": key,
        }
        before = room.state.get((kind, key))
        if before is not None:
            event["unsigned"] = {
                "prev_content": before.event["content"],
                "replaces_state": before.event["event_id"],
            }
        return self._place(room, event, at)

    def _place(self, room: FakeRoom, event: Event, at: datetime | None = None) -> Placed:
        self.stream += 1
        self.now += timedelta(seconds=1)
        moment = at or self.now
        event |= {
            "event_id": self._id("$"),
            "room_id": room.id,
            "origin_server_ts": int(moment.timestamp() * 1000),
        }
        depth = 1 + max((each.depth for each in room.placed), default=0)
        members = {key for kind, key in room.state if kind == "m.room.member"}
        joined = {each for each in members if room.membership(each) == "join"}
        if event["type"] == "m.room.member":
            joined.add(event["state_key"])  # who joins or leaves sees that event
        rule = room.state.get(("m.room.history_visibility", ""))
        visibility = rule.event["content"]["history_visibility"] if rule else "shared"
        placed = Placed(event, self.stream, depth, frozenset(joined), visibility)
        room.placed.append(placed)
        if "state_key" in event:
            room.state[event["type"], event["state_key"]] = placed
        return placed

    def _id(self, sigil: str) -> str:
        self._made += 1
        digest = hashlib.sha256(f"{sigil}{self._made}".encode()).digest()
        return sigil + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def relation(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The ``m.relates_to`` of an event, empty when it has none."""
    found = event["content"].get("m.relates_to")
    return found if isinstance(found, dict) else {}
