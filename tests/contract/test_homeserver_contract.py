"""What every ``Homeserver`` does: one suite over the fake and a real Synapse (spec 3, 4.5-4.8)."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tasks.adapters.matrix import MatrixHomeserver
from tasks.chat_ports import Homeserver, Page, RawEvent, RoomHistory
from tasks.errors import HomeserverRefused
from tests.support.fake_community import FakeCommunity
from tests.support.fake_homeserver import FakeHomeserver
from tests.support.synapse import Synapse

_numbers = itertools.count()
LONG_AGO = datetime(2020, 5, 17, 12, tzinfo=UTC)


@dataclass
class Scene:
    """People, and a homeserver as their reader ``reader`` sees it."""

    people: Synapse | FakeCommunity
    homeserver: Homeserver
    reader: str

    def room(self, **options: Any) -> str:
        """Ada's room with Bob and the reader in it."""
        return self.people.room("ada", "bob", self.reader, **options)


@pytest.fixture(params=["fake", "synapse"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    reader = f"reader{next(_numbers)}"
    if request.param == "fake":
        community = FakeCommunity()
        yield Scene(community, FakeHomeserver(community, reader), reader)
        return
    synapse: Synapse = request.getfixturevalue("synapse")
    token = synapse.token(reader)
    with MatrixHomeserver(synapse.url, token, timeout=30, patience=60) as homeserver:
        yield Scene(synapse, homeserver, reader)


def pages(turn: Callable[[str], Page], start: str) -> list[RawEvent]:
    """All events from a token on."""
    events: list[RawEvent] = []
    token: str | None = start
    while token is not None:
        page = turn(token)
        events.extend(page.events)
        token = page.next
    return events


def bodies(events: list[RawEvent]) -> list[str]:
    return [each["content"]["body"] for each in events if "body" in each["content"]]


def edit_in(event: RawEvent | None) -> str | None:
    """The text of the edit that comes bundled with the event."""
    assert event is not None
    edit = event.get("unsigned", {}).get("m.relations", {}).get("m.replace")
    return edit["content"]["m.new_content"]["body"] if edit else None


def now(history: RoomHistory, event: str) -> RawEvent:
    found = history.events([event])[event]
    assert found is not None
    return found


def test_m45_standing_says_who_where_and_which_rooms_are_direct_without_a_sync(
    scene: Scene,
) -> None:
    user = scene.people.user(scene.reader)
    assert scene.homeserver.standing().direct == frozenset()
    room, direct = scene.room(), scene.room()
    scene.people.room("ada", invite=[user])
    scene.people.mark_direct(scene.reader, "ada", direct)
    standing = scene.homeserver.standing()
    assert (standing.user, standing.joined) == (user, frozenset({room, direct}))
    assert standing.direct == frozenset({direct})
    assert scene.homeserver.identity.endswith(f" as {user}")


def test_news_are_the_rooms_in_which_anything_happened(scene: Scene) -> None:
    quiet, lively, renamed = scene.room(), scene.room(), scene.room()
    first = scene.homeserver.news(None)
    assert first.rooms == {quiet, lively, renamed}
    scene.people.send(lively, "bob", "one")
    scene.people.put_state(renamed, "ada", "m.room.name", {"name": "other"})
    second = scene.homeserver.news(first.next)
    assert second.rooms == {lively, renamed}
    assert scene.homeserver.news(second.next).rooms == frozenset()


def test_the_same_question_asked_again_soon_tells_what_came_in_between(scene: Scene) -> None:
    first, second = scene.room(), scene.room()
    token = scene.homeserver.news(None).next
    scene.people.send(first, "bob", "one")
    before = scene.homeserver.news(token)
    scene.people.send(second, "bob", "two")
    after = scene.homeserver.news(token)
    assert (before.rooms, after.rooms) == ({first}, {first, second})
    assert before.next != after.next


def test_an_edit_and_a_redaction_of_something_old_are_news(scene: Scene) -> None:
    edited, redacted = scene.room(), scene.room()
    old, gone = scene.people.send(edited, "bob", "old"), scene.people.send(redacted, "bob", "gone")
    first = scene.homeserver.news(None)
    edit = scene.people.edit(edited, "bob", old, "new")
    redaction = scene.people.redact(redacted, "ada", gone)
    assert scene.homeserver.news(first.next).rooms == {edited, redacted}
    for room, event in ((edited, edit), (redacted, redaction)):
        came = pages(scene.homeserver.room(room).forward, first.next)
        assert [each["event_id"] for each in came] == [event]


def test_m01_history_read_backwards_ends_without_a_further_token(scene: Scene) -> None:
    room = scene.room()
    for text in ("one", "two", "three"):
        scene.people.send(room, "bob", text)
    token = scene.homeserver.news(None).next
    history = pages(scene.homeserver.room(room).back, token)
    assert bodies(history) == ["three", "two", "one"]
    assert history[-1]["type"] == "m.room.create"
    ids = [each["event_id"] for each in history]
    assert len(set(ids)) == len(ids)


def test_m06_a_small_room_read_back_once_has_nothing_to_read_forward(scene: Scene) -> None:
    room = scene.room()
    scene.people.send(room, "bob", "only")
    token = scene.homeserver.news(None).next
    history = scene.homeserver.room(room)
    assert bodies(pages(history.back, token)) == ["only"]
    assert history.forward(token) == Page((), None)


def test_m04_reading_forward_finds_a_message_behind_many_edits(scene: Scene) -> None:
    room = scene.room()
    old = scene.people.send(room, "bob", "old")
    token = scene.homeserver.news(None).next
    scene.people.send(room, "ada", "needle")
    for turn in range(15):
        scene.people.edit(room, "bob", old, f"new {turn}")
    came = pages(scene.homeserver.room(room).forward, token)
    assert bodies(came)[0] == "needle"
    assert len(came) == 16


def test_what_arrives_while_one_reads_is_found_from_the_token_taken_before(scene: Scene) -> None:
    room = scene.room()
    history = scene.homeserver.room(room)
    first = scene.homeserver.news(None).next
    for turn in range(9):
        scene.people.send(room, "bob", f"before {turn}")
    second = scene.homeserver.news(first).next
    page = history.forward(first)
    old = next(each["event_id"] for each in page.events if "body" in each["content"])
    during = {
        scene.people.send(room, "ada", "during"),
        scene.people.edit(room, "bob", old, "edited during"),
        scene.people.redact(room, "ada", scene.people.send(room, "bob", "gone")),
    }
    assert page.next
    rest = pages(history.forward, page.next)
    assert {f"before {turn}" for turn in range(9)} <= set(bodies([*page.events, *rest]))
    third = scene.homeserver.news(second)
    assert room in third.rooms
    later = pages(history.forward, second)
    assert during <= {each["event_id"] for each in later}
    assert not [text for text in bodies(later) if text.startswith("before")]


def test_m24_an_edit_comes_bundled_with_its_original_wherever_that_is_read(scene: Scene) -> None:
    room = scene.room()
    old = scene.people.send(room, "bob", "old")
    for turn in range(10):
        scene.people.send(room, "ada", f"between {turn}")
    scene.people.edit(room, "bob", old, "new")
    token = scene.homeserver.news(None).next
    history = scene.homeserver.room(room)
    read = next(e for e in pages(history.back, token) if e["event_id"] == old)
    assert (read["content"]["body"], edit_in(read)) == ("old", "new")
    alone = now(history, old)
    assert (alone["content"]["body"], edit_in(alone)) == ("old", "new")
    others = [each["event_id"] for each in pages(history.back, token) if "body" in each["content"]]
    assert edit_in(history.events(others)[old]) == "new"


def test_m09_the_bundled_edit_is_the_newest_by_time(scene: Scene) -> None:
    room = scene.room()
    old = scene.people.send(room, "bob", "old", LONG_AGO)
    scene.people.edit(room, "bob", old, "third", LONG_AGO + timedelta(hours=3))
    scene.people.send(room, "ada", "between")
    scene.people.edit(room, "bob", old, "second", LONG_AGO + timedelta(hours=2))
    event = now(scene.homeserver.room(room), old)
    assert edit_in(event) == "third"
    assert event["origin_server_ts"] == int(LONG_AGO.timestamp() * 1000)


def test_m11_an_edit_by_somebody_else_is_not_bundled(scene: Scene) -> None:
    room = scene.room()
    old = scene.people.send(room, "bob", "mine")
    scene.people.edit(room, "ada", old, "forged")
    assert edit_in(now(scene.homeserver.room(room), old)) is None


def test_m19_a_redacted_edit_gives_way_to_the_one_before(scene: Scene) -> None:
    room = scene.room()
    history = scene.homeserver.room(room)
    old = scene.people.send(room, "bob", "one")
    scene.people.edit(room, "bob", old, "two")
    last = scene.people.edit(room, "bob", old, "three")
    assert edit_in(now(history, old)) == "three"
    scene.people.redact(room, "bob", last)
    assert edit_in(now(history, old)) == "two"


@pytest.mark.parametrize("version", ["10", "12"])
def test_m22_a_redacted_event_comes_back_empty_and_the_redaction_names_it(
    scene: Scene, version: str
) -> None:
    room = scene.room(version=version)
    root = scene.people.send(room, "bob", "root")
    gone = scene.people.reply(room, "bob", root, "secret word")
    scene.people.edit(room, "bob", gone, "secret word again")
    token = scene.homeserver.news(None).next
    redaction = scene.people.redact(room, "ada", gone)
    history = scene.homeserver.room(room)
    came = pages(history.forward, token)
    assert [each["event_id"] for each in came] == [redaction]
    assert gone in {came[0].get("redacts"), came[0]["content"].get("redacts")}
    read = now(history, gone)
    assert read["content"] == {}
    assert read["unsigned"]["redacted_because"]["event_id"] == redaction
    assert edit_in(read) is None


def test_m18_the_edits_of_a_redacted_message_are_still_there_to_be_left_out(scene: Scene) -> None:
    room = scene.room()
    gone = scene.people.send(room, "bob", "one")
    edit = scene.people.edit(room, "bob", gone, "two")
    scene.people.redact(room, "bob", gone)
    assert now(scene.homeserver.room(room), edit)["content"]["m.new_content"]["body"] == "two"


def test_each_event_asked_for_is_answered_by_itself_or_by_none(scene: Scene) -> None:
    room, other = scene.room(), scene.room()
    foreign = scene.people.send(other, "bob", "elsewhere")
    ids = [scene.people.send(room, "bob", f"text {turn}") for turn in range(12)]
    asked = [ids[0], "$nothing", *ids[6:], foreign, ids[0]]
    found = scene.homeserver.room(room).events(asked)
    assert list(found) == [ids[0], "$nothing", *ids[6:], foreign]
    assert {each for each, event in found.items() if event is None} == {"$nothing", foreign}
    assert all(event["event_id"] == each for each, event in found.items() if event)
    assert scene.homeserver.room(room).events([]) == {}
    around = scene.homeserver.room(room).events([*ids[:2], foreign, *ids[2:4]])
    assert [each for each, event in around.items() if event is None] == [foreign]


def test_state_shows_what_holds_now_and_who_left(scene: Scene) -> None:
    room = scene.room(name="first")
    scene.people.put_state(room, "ada", "m.room.name", {"name": "second"})
    scene.people.put_state(room, "ada", "m.bridge", {}, "any://key")
    scene.people.leave(room, "bob")
    held = {(e["type"], e["state_key"]): e["content"] for e in scene.homeserver.room(room).state()}
    assert held["m.room.name", ""] == {"name": "second"}
    assert held["m.bridge", "any://key"] == {}
    assert held["m.room.member", scene.people.mxid("bob")]["membership"] == "leave"
    assert held["m.room.member", scene.people.mxid("ada")]["membership"] == "join"


def test_member_events_go_back_to_the_invite_that_said_direct(scene: Scene) -> None:
    user = scene.people.user(scene.reader)
    room = scene.people.room("ada", preset="trusted_private_chat", is_direct=True, invite=[user])
    scene.people.join(room, scene.reader)
    for name in ("one", "two"):
        content = {"membership": "join", "displayname": name}
        scene.people.put_state(room, scene.reader, "m.room.member", content, user)
    scene.people.send(room, "ada", "text")
    members = list(scene.homeserver.room(room).member_events())
    assert {each["type"] for each in members} == {"m.room.member"}
    own = [each["content"] for each in members if each["state_key"] == user]
    assert [each.get("is_direct") for each in own] == [None, None, None, True]
    assert [each.get("displayname") for each in own[:2]] == ["two", "one"]
    previous = [
        each["unsigned"]["prev_content"].get("is_direct")
        for each in members
        if each["state_key"] == user and "prev_content" in each.get("unsigned", {})
    ]
    assert previous == [None, None, True]


def test_aliases_are_the_directorys_also_when_no_event_names_them(scene: Scene) -> None:
    room = scene.room(alias=f"named{scene.reader}")
    hidden = scene.people.put_alias(room, "ada", f"hidden{scene.reader}")
    aliases = scene.homeserver.room(room).aliases()
    assert sorted(aliases) == sorted([hidden, hidden.replace("hidden", "named")])
    assert scene.homeserver.room(scene.room()).aliases() == []


def test_m46_who_was_kicked_is_told_leave_and_nothing_newer(scene: Scene) -> None:
    room = scene.room()
    kept = scene.people.send(room, "bob", "before")
    token = scene.homeserver.news(None).next
    scene.people.kick(room, "ada", scene.reader)
    after = scene.people.send(room, "bob", "after")
    history = scene.homeserver.room(room)
    assert room not in scene.homeserver.standing().joined
    assert history.membership() == "leave"
    assert "before" in bodies(pages(history.back, token))
    assert history.events([kept])[kept]
    with pytest.raises(HomeserverRefused):  # not None: the room does not answer as ours
        history.events([after])
    with pytest.raises(HomeserverRefused):
        history.aliases()


def test_a_ban_an_invite_and_a_return_are_told_as_such(scene: Scene) -> None:
    room, other = scene.room(), scene.room()
    invited = scene.people.room("ada", invite=[scene.people.user(scene.reader)])
    scene.people.ban(room, "ada", scene.reader)
    scene.people.leave(other, scene.reader)
    scene.people.join(other, scene.reader)
    assert scene.homeserver.room(room).membership() == "ban"
    assert scene.homeserver.room(other).membership() == "join"
    assert scene.homeserver.room(invited).membership() == "invite"


def test_a_room_that_we_never_were_in_has_no_membership_and_refuses(scene: Scene) -> None:
    room = scene.people.room("ada", preset="private_chat")
    history = scene.homeserver.room(room)
    assert history.membership() == ""
    assert scene.homeserver.room("!" + "A" * 43).membership() == ""
    token = scene.homeserver.news(None).next
    for ask in (history.state, lambda: history.back(token), history.aliases):
        with pytest.raises(HomeserverRefused) as refused:
            ask()
        assert refused.value.code == "M_FORBIDDEN"


def test_m48_what_was_written_before_we_joined_is_not_shown_where_the_room_says_so(
    scene: Scene,
) -> None:
    rule = {"type": "m.room.history_visibility", "content": {"history_visibility": "joined"}}
    room = scene.people.room("ada", "bob", initial_state=[rule])
    before = scene.people.send(room, "bob", "before")
    scene.people.join(room, scene.reader)
    scene.people.send(room, "bob", "after")
    token = scene.homeserver.news(None).next
    history = scene.homeserver.room(room)
    assert bodies(pages(history.back, token)) == ["after"]
    assert history.events([before]) == {before: None}


def test_m25_the_predecessor_of_an_upgraded_room_is_in_its_state(scene: Scene) -> None:
    old = scene.room(version="10")
    new = scene.people.upgrade(old, "ada", "12")
    scene.people.join(new, scene.reader)
    create = next(e for e in scene.homeserver.room(new).state() if e["type"] == "m.room.create")
    assert create["content"]["predecessor"]["room_id"] == old
    tombs = [e for e in scene.homeserver.room(old).state() if e["type"] == "m.room.tombstone"]
    assert [each["content"]["replacement_room"] for each in tombs] == [new]


def test_m26_room_ids_with_and_without_a_server_part_are_read_alike(scene: Scene) -> None:
    for version, colon in (("11", True), ("12", False)):
        room = scene.room(version=version)
        assert (":" in room) is colon
        event = scene.people.send(room, "bob", "text")
        token = scene.homeserver.news(None).next
        assert now(scene.homeserver.room(room), event)["content"]["body"] == "text"
        assert bodies(list(scene.homeserver.room(room).back(token).events))[0] == "text"


def test_an_encrypted_event_is_shown_as_one(scene: Scene) -> None:
    room = scene.room()
    event = scene.people.encrypted(room, "bob")
    assert now(scene.homeserver.room(room), event)["type"] == "m.room.encrypted"
