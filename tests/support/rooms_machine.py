"""People talk, rooms change, runs crash: after each whole run the store is as one clean run's."""

import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tasks import room_events, room_sweep
from tasks.domain.purges import Purge
from tasks.errors import HomeserverUnreachable
from tasks.purge import delete_now, take_back
from tasks.room_records import purges_of
from tests.support.fake_rooms import Boundaries, Crash, RoomWork, at, expected

MINUTES = st.sampled_from([*range(0, 60, 12), 65, 90, 124, 125, 126, 160, 190, 250])
PEOPLE = st.sampled_from(["ada", "bob", "cyd"])
PICTURE = {"msgtype": "m.image", "body": "picture.png", "url": "mxc://community.test/picture"}
WORD = re.compile(r"\bq\d+q\b")
TURNS = [*["name"] * 4, *["encryption"] * 2, "alias", "bridge"]
PORTS = ("standing", "news", "state", "aliases", "back", "forward", "events", "membership")


class RoomsMachine(RuleBasedStateMachine):
    """Rules are what people, the steward and accidents do; ``refresh`` checks everything."""

    def make(self, **options: Any) -> RoomWork:
        """The work under test."""
        return RoomWork(Boundaries(4), **options)

    @initialize(
        page_events=st.integers(1, 7), most=st.sampled_from([1, 3, 8]), windows=st.integers(1, 3)
    )
    def start(self, page_events: int, most: int, windows: int) -> None:
        self.before = room_events.MOST_EVENTS, room_sweep.AT_ONCE
        room_events.MOST_EVENTS, room_sweep.AT_ONCE = most, windows
        self.folder = Path(tempfile.mkdtemp(prefix="huginn-rooms-"))
        self.work = self.make(page_events=page_events, folder=self.folder)
        self.community = self.work.community
        self.said: list[tuple[str, str, str]] = []
        """Room, sender and id of every message and edit."""
        self.edits: set[str] = set()
        self.made = 0
        self.new_room()

    def teardown(self) -> None:
        if hasattr(self, "before"):
            room_events.MOST_EVENTS, room_sweep.AT_ONCE = self.before
            shutil.rmtree(self.folder)

    def word(self) -> str:
        """A word that nothing else says."""
        self.made += 1
        return f"q{self.made}q"

    def text(self, words: int) -> str:
        """That word, and others to fill windows."""
        return " ".join([self.word(), *["talk"] * words])

    def one_room(self, data: st.DataObject) -> str:
        return str(data.draw(st.sampled_from(sorted(self.community.rooms))))

    def one_said(self, data: st.DataObject) -> tuple[str, str, str]:
        found: tuple[str, str, str] = data.draw(st.sampled_from(self.said))
        return found

    @precondition(lambda self: len(self.community.rooms) < 3)
    @rule()
    def new_room(self) -> None:
        self.work.room("cyd")

    @rule(data=st.data(), who=PEOPLE, minute=MINUTES, words=st.integers(0, 6))
    def send(self, data: st.DataObject, who: str, minute: int, words: int) -> None:
        room = self.one_room(data)
        event = self.community.send(room, who, self.text(words), at(minute))
        self.said.append((room, who, event))

    @rule(data=st.data(), who=PEOPLE, minute=MINUTES)
    def send_a_long_one(self, data: st.DataObject, who: str, minute: int) -> None:
        room = self.one_room(data)
        event = self.community.send(room, who, f"{self.text(40)} {self.word()}", at(minute))
        self.said.append((room, who, event))

    @precondition(lambda self: self.said)
    @rule(data=st.data(), own=st.integers(0, 5), picture=st.integers(0, 4), minute=MINUTES)
    def edit(self, data: st.DataObject, own: int, picture: int, minute: int) -> None:
        room, who, original = self.one_said(data)
        who = who if own else data.draw(PEOPLE)
        content: str | Mapping[str, Any] = self.text(picture) if picture else PICTURE
        edit = self.community.edit(room, who, original, content, at(minute))
        self.said.append((room, who, edit))

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def redact(self, data: st.DataObject) -> None:
        room, who, event = self.one_said(data)
        self.community.redact(room, who, event)

    @precondition(lambda self: self.said)
    @rule(data=st.data(), who=PEOPLE, minute=MINUTES)
    def reply_in_a_thread(self, data: st.DataObject, who: str, minute: int) -> None:
        room, _, root = self.one_said(data)
        event = self.community.reply(room, who, root, self.text(1), at(minute))
        self.said.append((room, who, event))

    @precondition(lambda self: self.said)
    @rule(data=st.data(), who=PEOPLE)
    def late(self, data: st.DataObject, who: str) -> None:
        """Federation brings a message that others had long ago."""
        room, _, beside = self.one_said(data)
        event = self.community.late(room, who, self.text(0), beside)
        self.said.append((room, who, event))

    @rule(data=st.data(), first=MINUTES, span=st.integers(0, 40), who=st.none() | PEOPLE)
    def purge_a_time(self, data: st.DataObject, first: int, span: int, who: str | None) -> None:
        sender = self.community.mxid(who) if who else ""
        self.work.purge(Purge(self.one_room(data), at(first), at(first + span), sender))

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def purge_an_event(self, data: st.DataObject) -> None:
        room, _, event = self.one_said(data)
        self.work.purge(Purge(room, event=event))

    @precondition(lambda self: bool(purges_of(self.work.ledger)))
    @rule(data=st.data(), left=st.none() | st.integers(1, 20))
    def purge_at_once(self, data: st.DataObject, left: int | None) -> None:
        """`chat-purge --now`, which may be killed too."""
        purge = data.draw(st.sampled_from(purges_of(self.work.ledger)))
        self.work.fuse.left = left
        with suppress(Crash):
            chat = self.work.chat
            delete_now(chat.store, chat.index, purge)
        self.work.fuse.left = None
        self.no_cursor_is_ahead()

    @precondition(lambda self: bool(purges_of(self.work.ledger)))
    @rule(data=st.data())
    def purge_taken_back(self, data: st.DataObject) -> None:
        chat = self.work.chat
        take_back(chat.settings, chat.store, data.draw(st.sampled_from(chat.purges)))

    @rule(data=st.data(), how=st.sampled_from(["leave", "kick", "ban"]))
    def go(self, data: st.DataObject, how: str) -> None:
        room = self.one_room(data)
        if self.community.rooms[room].membership(self.work.homeserver.reader) == "join":
            names = ["reader"] if how == "leave" else ["ada", "reader"]
            getattr(self.community, how)(room, *names)

    @rule(data=st.data())
    def come_back(self, data: st.DataObject) -> None:
        room = self.one_room(data)
        if self.community.rooms[room].membership(self.work.homeserver.reader) != "join":
            self.community.join(room, "reader")

    @rule(data=st.data(), direct=st.booleans())
    def direct(self, data: st.DataObject, direct: bool) -> None:  # noqa: FBT001
        self.community.mark_direct("reader", "ada", *([self.one_room(data)] if direct else []))

    @rule(data=st.data(), kind=st.sampled_from(TURNS))
    def turn_into(self, data: st.DataObject, kind: str) -> None:
        room = self.one_room(data)
        if kind == "bridge":
            self.community.put_state(room, "ada", "m.bridge", {"bridgebot": "@b:x"}, "key")
        elif kind == "alias":
            self.community.put_alias(room, "ada", "users")
        elif kind == "encryption":
            self.community.put_state(room, "ada", "m.room.encryption", {"algorithm": "m.x"})
            self.community.encrypted(room, "ada")
        else:
            self.community.put_state(room, "ada", "m.room.name", {"name": "Garden"})

    @rule(version=st.sampled_from(["v1", "v2", "v3"]))
    def other_rules(self, version: str) -> None:
        self.work.version = version

    @rule(hours=st.integers(-3, 3))
    def the_clock_jumps(self, hours: int) -> None:
        self.work.clock = datetime.now(UTC) + timedelta(hours=hours)

    @rule(left=st.integers(1, 120), after=st.booleans())
    def crash(self, left: int, after: bool) -> None:  # noqa: FBT001
        """Any call of any port may be the last one, with its effect or without it."""
        self.work.fuse.left, self.work.fuse.after = left, after
        with suppress(Crash):
            self.work.refresh()
        self.work.fuse.left = None
        self.no_cursor_is_ahead()

    @rule(method=st.sampled_from(PORTS), data=st.data())
    def homeserver_fails(self, method: str, data: st.DataObject) -> None:
        """A run that cannot reach something for one room, or for all."""
        room = self.one_room(data)
        key: str | tuple[str, str] = (method, room) if data.draw(st.booleans()) else method
        before = self.work.stored()
        self.work.homeserver.failing[key] = HomeserverUnreachable("Nobody answers. Try again.")
        try:
            self.work.refresh(patient=True)
        except HomeserverUnreachable:
            assert self.work.stored() == before
        finally:
            self.work.homeserver.failing.clear()
        self.no_cursor_is_ahead()

    @rule(data=st.data())
    def read_all_again(self, data: st.DataObject) -> None:
        """A backfill of one room."""
        room = self.one_room(data)
        if room in self.work.discover().admitted:
            self.work.read(room, from_start=True)
            self.no_cursor_is_ahead()

    @rule()
    def refresh_early(self) -> None:
        self.refresh()  # more often than other things happen

    @rule()
    def refresh_late(self) -> None:
        self.refresh()

    @rule()
    def refresh(self) -> None:
        found = self.work.refresh()
        assert not found.unavailable
        clean = self.work.clean()
        assert self.work.texts() == clean.texts()
        assert self.work.stored() == clean.stored()
        admitted = {each for each in self.community.rooms if clean.bodies(each)}
        for room in admitted:
            assert self.work.bodies(room) == expected(self.work, room)
        allowed = {word for room in admitted for word in WORD.findall(self.text_of(room))}
        assert set(WORD.findall(self.work.words())) == allowed
        for purge in purges_of(self.work.ledger):
            held = f"chat:{purge.room}" in self.work.ledger.records()
            assert purge.applied or not held
        embedded = self.work.embedder.embedded
        again = self.work.refresh()
        assert again.nothing_to_do
        assert self.work.embedder.embedded == embedded
        assert self.work.stored() == clean.stored()

    def text_of(self, room: str) -> str:
        return " ".join(expected(self.work, room))

    def no_cursor_is_ahead(self) -> None:
        """What a cursor at rest vouches for is held, if nothing happened in the room since."""
        clean = self.work.clean()
        for source, record in self.work.ledger.records().items():
            room, cursor = source.removeprefix("chat:"), record.room
            if cursor.phase is not None or cursor.stream is None:
                continue
            placed = self.work.homeserver.visible(self.community.rooms[room])
            since = [each for each in placed if each.stream > int(cursor.stream[1:])]
            pending = [
                each
                for each in purges_of(self.work.ledger)
                if each.room == room and not each.applied
            ]
            known = clean.record(room).state == "current"
            if known and not since and not pending and cursor.version == self.work.version:
                assert self.work.stored(room) == clean.stored(room)
