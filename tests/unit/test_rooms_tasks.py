"""The work on one room over fakes: begin, upsert, commit (spec 2.3-2.7, 3.2-3.4, 4.5-4.9)."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import permutations
from typing import Any

import pytest

from tasks import room_events, room_sweep
from tasks.chat_ports import Page
from tasks.domain.purges import Purge
from tasks.errors import (
    CursorMoved,
    HomeserverUnreachable,
    NoRunBegun,
    OtherReader,
    RoomRefused,
    RoomUnchecked,
    RoomUnreadable,
    SettingsChanged,
    TooManyDeletes,
    WritesNotAcknowledged,
)
from tasks.room_records import purges_of
from tasks.room_unfinished import unfinished
from tests.support.fake_rooms import Boundaries, Crash, RoomWork, arrive, at, expected

PICTURE = {"msgtype": "m.image", "body": "picture.png", "url": "mxc://community.test/picture"}


@pytest.fixture
def work() -> RoomWork:
    return RoomWork()


@pytest.fixture
def room(work: RoomWork) -> str:
    return work.room("cyd")


@pytest.fixture
def say(work: RoomWork, room: str) -> Callable[..., str]:
    """Sends a message of Ada's, so many minutes after the start."""

    def sent(body: str | Mapping[str, Any], minutes: float = 0, who: str = "ada") -> str:
        return work.community.send(room, who, body, at(minutes))

    return sent


def boundary(work: RoomWork, send: Callable[[], str]) -> str:
    """A message whose id begins a segment whatever came before it."""
    assert isinstance(work.community, Boundaries)
    work.community.next_is_boundary = True
    try:
        return send()
    finally:
        work.community.next_is_boundary = False


def check(work: RoomWork, room: str) -> None:
    """What is held is what one clean run makes, and what the facts say."""
    clean = work.clean()
    assert work.texts() == clean.texts()
    assert work.stored() == clean.stored()
    assert work.bodies(room) == expected(work, room)


def crashed(work: RoomWork) -> bool:
    """Whether a run died of the fuse, which is out then."""
    try:
        work.refresh()
    except Crash:
        return True
    finally:
        work.fuse.left = None
    return False


def refreshed(work: RoomWork, room: str) -> list[str]:
    work.refresh()
    check(work, room)
    return work.bodies(room)


def segments(work: RoomWork) -> int:
    return len({each["segment"] for each in work.held().values()})


# Edits


def test_m15_an_edited_message_is_held_once_under_its_first_id(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("first form")
    work.refresh()
    edit = work.community.edit(room, "ada", original, "second form", at(9))
    assert refreshed(work, room) == ["second form"]
    (passage,) = work.held().values()
    assert (passage["events"], passage["edits"]) == ([original], [edit])


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_m08_an_edit_counts_in_whatever_order_it_comes(
    order: tuple[int, ...], work: RoomWork
) -> None:
    away = Boundaries()
    told = away.room("ada", "reader")
    original = away.send(told, "ada", "first form", at(0))
    away.edit(told, "ada", original, "second form", at(1))
    away.edit(told, "ada", original, "third form", at(2))
    away.send(told, "ada", "something else", at(3))
    events = [each.event for each in away.rooms[told].placed[-4:]]
    room = work.room()
    for number in order:
        arrive(work.community, room, [events[number]])
        refreshed(work, room)
    assert work.bodies(room) == ["third form", "something else"]


def test_m09_the_latest_of_several_edits_with_others_between_is_used_once(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("a")
    work.community.edit(room, "ada", original, "a1", at(1))
    say("b", 2)
    work.community.edit(room, "ada", original, "a2", at(3))
    assert refreshed(work, room) == ["a2", "b"]


def test_m24_an_edit_that_no_page_brings_counts_by_its_bundle(
    work: RoomWork, room: str, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = say("old form")
    edit = work.community.edit(room, "ada", original, "new form", at(1))
    history = type(work.homeserver.room(room))
    read = history.back

    def without_the_edit(self: Any, start: str) -> Page:
        page = read(self, start)
        return Page(tuple(e for e in page.events if e["event_id"] != edit), page.next)

    monkeypatch.setattr(history, "back", without_the_edit)
    work.refresh()
    assert work.bodies(room) == ["new form"]


def test_m11_an_edit_by_another_changes_nothing_and_is_counted_as_foreign(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("mine")
    work.refresh()
    work.community.edit(room, "bob", original, "yours", at(1))
    assert refreshed(work, room) == ["mine"]
    assert work.record(room).read == {"foreign edit": 1, "stored": 0}
    assert "yours" not in work.words()
    work.read(room, from_start=True)
    assert work.record(room).read["foreign edit"] == 1


def test_edits_of_one_millisecond_go_by_their_ids(work: RoomWork, room: str) -> None:
    original = work.community.send(room, "ada", "first", at(0))
    for number in range(5):
        work.community.edit(room, "ada", original, f"edit {number}", at(1))
        refreshed(work, room)


def test_a_message_edited_into_a_picture_loses_its_text_and_gets_it_back(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("words")
    say("others", 1)
    work.refresh()
    work.community.edit(room, "ada", original, PICTURE, at(2))
    assert refreshed(work, room) == ["others"]
    work.community.edit(room, "ada", original, "words again", at(3))
    assert refreshed(work, room) == ["words again", "others"]


def test_redacting_the_edit_that_took_the_text_away_brings_it_back(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("words")
    say("others", 1)
    edit = work.community.edit(room, "ada", original, PICTURE, at(2))
    assert refreshed(work, room) == ["others"]
    work.community.redact(room, "ada", edit)
    assert refreshed(work, room) == ["words", "others"]


def test_redacting_such_an_edit_brings_the_text_back_after_increments_too(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("words")
    work.refresh()
    first = work.community.edit(room, "ada", original, PICTURE, at(2))
    work.refresh()
    second = work.community.edit(room, "ada", original, PICTURE, at(3))
    work.refresh()
    work.community.redact(room, "ada", second)
    assert refreshed(work, room) == []
    work.community.redact(room, "ada", first)
    assert refreshed(work, room) == ["words"]


def test_w32_a_long_message_edited_short_leaves_none_of_its_pieces(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("before")
    original = say("The long story goes on. " * 20 + "ravens", 1)
    say("after", 2)
    work.refresh()
    assert len(work.held()) > 5
    work.community.edit(room, "ada", original, "short", at(3))
    assert refreshed(work, room) == ["before", "short", "after"]
    assert "ravens" not in work.words()


# Redactions


def test_m19_a_redacted_edit_brings_the_text_before_it_back(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("one")
    edits = [work.community.edit(room, "ada", original, f"{n}", at(n)) for n in (2, 3)]
    assert refreshed(work, room) == ["3"]
    work.community.redact(room, "ada", edits[1])
    assert refreshed(work, room) == ["2"]
    work.community.redact(room, "ada", edits[0])
    assert refreshed(work, room) == ["one"]


def test_redacting_an_edit_that_was_replaced_long_ago_changes_nothing(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("one")
    first = work.community.edit(room, "ada", original, "two", at(2))
    work.community.edit(room, "ada", original, "three", at(3))
    work.refresh()
    embedded = work.embedder.embedded
    work.community.redact(room, "ada", first)
    assert refreshed(work, room) == ["three"]
    assert work.embedder.embedded == embedded


@pytest.mark.parametrize("again", [False, True], ids=["next run", "full re-read"])
def test_m18_a_redacted_message_goes_with_its_edits(
    again: bool,  # noqa: FBT001
    work: RoomWork,
    room: str,
    say: Callable[..., str],
) -> None:
    say("harmless", -1)
    original = say("ravens")
    work.community.edit(room, "ada", original, "ravens twice", at(1))
    work.refresh()
    assert "ravens" in work.words()
    work.community.redact(room, "ada", original)
    work.refresh()
    if again:
        work.read(room, from_start=True)
    check(work, room)
    assert "ravens" not in work.words()


@pytest.mark.parametrize("near", [True, False], ids=["neighbour joins", "neighbour stays"])
def test_the_first_message_of_a_segment_goes(
    near: bool,  # noqa: FBT001
    work: RoomWork,
    room: str,
    say: Callable[..., str],
) -> None:
    say("one")
    first = boundary(work, lambda: say("two", 5 if near else 100))
    say("three", 6 if near else 101)
    work.refresh()
    assert segments(work) == 2
    work.community.redact(room, "ada", first)
    refreshed(work, room)
    assert segments(work) == (1 if near else 2)


def test_a_neighbour_of_many_windows_joins_whole(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for number in range(12):
        say(f"number {number} of many", number)
    first = boundary(work, lambda: say("begins", 20))
    for number in range(12):
        say(f"number {number} of others", 21 + number)
    work.refresh()
    assert segments(work) == 2
    work.community.redact(room, "ada", first)
    refreshed(work, room)
    assert segments(work) == 1


def test_the_only_message_of_a_segment_goes_and_its_neighbours_stay_as_they_are(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("one")
    only = say("two", 100)
    say("three", 200)
    work.refresh()
    kept = {key for key, each in work.held().items() if only not in each["events"]}
    embedded = work.embedder.embedded
    work.community.redact(room, "ada", only)
    assert refreshed(work, room) == ["one", "three"]
    assert work.held().keys() == kept
    assert work.embedder.embedded == embedded


# Late events and segments


def test_a_late_message_joins_the_segments_on_both_sides(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("one")
    say("three", 90)
    work.refresh()
    assert segments(work) == 2
    say("two", 45)
    refreshed(work, room)
    assert segments(work) == 1


def test_a_late_message_long_before_all_others_is_a_segment_of_its_own(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("two", 500)
    work.refresh()
    say("one")
    assert refreshed(work, room) == ["one", "two"]


def test_m07_a_late_message_from_federation_is_found_whatever_its_place(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    events = [say(f"number {n}", n) for n in range(20)]
    work.refresh()
    work.community.late(room, "bob", "late", events[3])
    say("last", 30)
    assert "late" in refreshed(work, room)


def test_messages_of_one_millisecond_join_the_segment_before_a_boundary_of_it(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    """By id it comes before the boundary that has its time: it belongs to those before it."""
    say("one")
    begins = boundary(work, lambda: say("begins", 10))
    work.refresh()
    sent = [say(f"alike {n}", 10) for n in range(6)]
    assert min(sent) < begins < max(sent)
    refreshed(work, room)


def test_each_of_many_messages_of_one_millisecond_may_come_alone(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("one")
    for number in range(12):
        if number % 3 == 1:
            boundary(work, partial(say, f"begins {number}", 10))
        else:
            say(f"alike {number}", 10)
        refreshed(work, room)


# Threads


def test_m21_a_redacted_root_leaves_its_replies_in_their_thread(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    root = say("root")
    replies = [
        work.community.reply(room, "bob", root, f"reply {number}", at(number))
        for number in range(1, 4)
    ]
    work.refresh()
    work.community.redact(room, "ada", root)
    assert refreshed(work, room) == ["reply 1", "reply 2", "reply 3"]
    assert {each["thread"] for each in work.held().values()} == {root}
    work.community.redact(room, "bob", replies[1])
    assert refreshed(work, room) == ["reply 1", "reply 3"]
    assert {each["thread"] for each in work.held().values()} == {root}


def test_threads_and_the_main_timeline_never_share_a_window(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    root = say("root")
    for number in range(4):
        work.community.reply(room, "bob", root, f"in {number}", at(number))
        say(f"out {number}", number)
        refreshed(work, room)
    assert len({each["thread"] for each in work.held().values()}) == 2


# Who may not be held


def test_a_puppet_in_the_middle_of_a_page_lets_nothing_of_it_be_written(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("before")
    work.refresh()
    before, cursor = work.stored(), work.cursor(room)
    say("plain")
    say("bridged", who="_discord_12")
    say("after")
    found = work.discover()
    assert found.due == [room]
    work.begin(room)
    with pytest.raises(RoomRefused, match="puppet") as caught:
        work.upsert(room)
    assert "discord" not in str(caught.value)
    assert work.stored() == before
    assert work.cursor(room).stream == cursor.stream
    work.refresh()
    assert work.stored() == {}
    assert "discord" not in work.words()


def test_a_puppet_quoted_by_another_is_not_to_be_found(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("as @_discord_12:example.org says")
    work.refresh()
    assert work.bodies(room) == ["as [puppet] says"]
    assert "discord" not in work.words()


def test_encrypted_events_are_counted_and_earlier_plain_text_stays(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("plain")
    work.community.put_state(room, "ada", "m.room.encryption", {"algorithm": "m.megolm"})
    work.community.encrypted(room, "ada")
    assert refreshed(work, room) == ["plain"]
    assert work.record(room).read["encrypted"] == 1
    assert "ciphertext" not in work.words()


def test_every_event_read_is_stored_or_skipped_for_a_reason(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("one")
    work.community.edit(room, "ada", original, "two", at(1))
    work.community.redact(room, "ada", say("gone"))
    work.community.event(room, "ada", "m.reaction", {})
    say({"body": 7, "msgtype": "m.text"})
    work.purge(Purge(room, event=say("purged")))
    work.refresh()
    assert work.record(room).read == {
        "stored": 1,
        "edit": 1,
        "malformed": 1,
        "purged": 1,
        "redacted": 1,
        "redaction": 1,
        "state": 6,
        "unknown type": 1,
    }


# Purges


PURGES: dict[str, Callable[[RoomWork, str, str], Purge]] = {
    "a time": lambda _, room, __: Purge(room, at(1), at(1)),
    "a sender": lambda work, room, _: Purge(room, at(0), at(9), work.community.mxid("bob")),
    "everything of a sender": lambda work, room, _: Purge(room, sender=work.community.mxid("bob")),
    "an event": lambda _, room, event: Purge(room, event=event),
    "everything until then": lambda _, room, __: Purge(room, None, at(1), "@bob:community.test"),
}


@pytest.mark.parametrize("kind", PURGES)
@pytest.mark.parametrize("when", ["before the first read", "after it"])
def test_what_a_purge_covers_is_never_held(
    kind: str, when: str, work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("one")
    event = say("ravens", 1, "bob")
    say("three", 2)
    if when == "after it":
        work.refresh()
        assert "ravens" in work.words()
    work.purge(PURGES[kind](work, room, event))
    assert refreshed(work, room) == ["one", "three"]
    assert "ravens" not in work.words()
    assert [bool(each.applied) for each in purges_of(work.ledger)] == [True]
    work.read(room, from_start=True)
    work.community.edit(room, "bob", event, "ravens again", at(1))
    work.refresh()
    assert "ravens" not in work.words()


def test_the_purge_of_an_edit_takes_the_message_whose_text_it_is(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("one")
    edit = work.community.edit(room, "ada", original, "ravens", at(1))
    work.refresh()
    work.purge(Purge(room, event=edit))
    assert refreshed(work, room) == []
    work.community.redact(room, "ada", edit)
    assert refreshed(work, room) == ["one"]


def test_a_purge_said_while_a_run_is_cut_short_is_done_by_the_next(
    work: RoomWork, room: str, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_events, "MOST_EVENTS", 1)
    event = say("ravens")
    work.refresh()
    for number in range(30):
        say(f"number {number}", 1_000 + number)
    work.discover()
    work.begin(room)
    assert not work.step(room)
    work.purge(Purge(room, event=event))
    work.refresh()
    assert "ravens" not in work.words()
    check(work, room)


def test_a_purge_of_most_of_a_room_is_not_held_back(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for number in range(150):
        say(f"number {number}", number * 100)
    work.refresh()
    assert len(work.stored()) >= 100
    work.purge(Purge(room, at(0), at(14_000)))
    work.refresh()
    check(work, room)
    assert len(work.stored()) < 20


# Crashes


def scene(work: RoomWork, room: str) -> list[str]:
    """An increment that writes, replaces and deletes; the words that must go."""
    community = work.community
    first = community.send(room, "ada", "one two three", at(0))
    second = community.send(room, "bob", "ravens fly by night", at(1))
    third = community.send(room, "ada", "wolves " * 30, at(2))
    community.send(room, "cyd", "near the end", at(3))
    community.send(room, "cyd", "far away", at(300))
    work.refresh()
    community.redact(room, "ada", first)
    community.edit(room, "bob", second, "ships", at(4))
    community.edit(room, "ada", third, "short", at(5))
    community.send(room, "ada", "one more", at(250))
    return ["three", "ravens", "wolves"]


@pytest.mark.parametrize("after", [False, True], ids=["before it had effect", "after it had"])
def test_a_run_killed_at_any_call_and_run_again_is_as_one_clean_run(
    after: bool,  # noqa: FBT001
) -> None:
    crashes = 0
    for left in range(1, 200):
        work = RoomWork(Boundaries(4))
        room = work.room("cyd")
        gone = scene(work, room)
        work.fuse.left, work.fuse.after = left, after
        stream = work.cursor(room).stream
        try:
            work.refresh()
        except Crash:
            crashes += 1
            if work.cursor(room).stream != stream:
                assert work.stored() == work.clean().stored()
        else:
            break
        work.refresh()
        check(work, room)
        assert not any(word in work.words() for word in gone)
    assert 30 < crashes < 199


def _second_redacted(work: RoomWork, room: str, events: list[str]) -> None:
    work.community.redact(room, "ada", events[1])


def _two_redacted(work: RoomWork, room: str, events: list[str]) -> None:
    for event in (events[1], events[4]):
        work.community.redact(room, "ada", event)


def _second_edited_longer(work: RoomWork, room: str, events: list[str]) -> None:
    work.community.edit(room, "ada", events[1], "ships " * 12, at(9))


def _one_comes_late(work: RoomWork, room: str, _: list[str]) -> None:
    work.community.send(room, "bob", "late " * 4, at(0.5))


@pytest.mark.parametrize(
    "change", [_second_redacted, _two_redacted, _second_edited_longer, _one_comes_late]
)
def test_a_run_killed_while_the_windows_of_a_segment_move_loses_and_doubles_nothing(
    change: Callable[[RoomWork, str, list[str]], None],
) -> None:
    crashes = 0
    for left in range(1, 200):
        work = RoomWork()
        room = work.room("cyd")
        words = ["ravens", "wolves", "runes", "trees", "giants", "rivers", "halls"]
        events = [
            work.community.send(room, "ada", f"{word} " * 4, at(minute))
            for minute, word in enumerate(words)
        ]
        work.refresh()
        assert len(work.held()) > 2
        change(work, room, events)
        work.fuse.left, work.fuse.after = left, True
        if not crashed(work):
            break
        crashes += 1
        work.refresh()
        check(work, room)
        assert unfinished(work.ledger, f"chat:{room}") == []
    assert 30 < crashes < 199


@pytest.mark.parametrize("after", [False, True], ids=["before it had effect", "after it had"])
def test_a_full_re_read_killed_at_any_call_is_as_one_clean_run(
    after: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room_events, "MOST_EVENTS", 3)
    monkeypatch.setattr(room_sweep, "AT_ONCE", 2)
    crashes = 0
    for left in range(1, 400, 3):
        work = RoomWork(Boundaries(4), page_events=3)
        room = work.room("cyd")
        scene(work, room)
        work.version = "v2"
        work.fuse.left, work.fuse.after = left, after
        if not crashed(work):
            break
        crashes += 1
        work.clock = datetime.now(UTC) - timedelta(days=1)
        work.refresh()
        check(work, room)
        assert {each["rules"] for each in work.held().values()} == {"v2"}
    assert 30 < crashes < 130


def test_a_write_that_the_store_lost_leaves_the_cursor_and_the_old_windows(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("old words")
    work.refresh()
    before, cursor = work.stored(), work.cursor(room)
    work.community.redact(room, "ada", original)
    late = say("new words", 1)
    work.discover()
    work.begin(room)
    clean = work.clean().stored()
    work.writer.losing = set(clean)
    with pytest.raises(WritesNotAcknowledged, match="0 of 1 upserts"):
        work.step(room)
    assert work.stored() == before
    assert work.cursor(room).stream == cursor.stream
    work.writer.losing = set()
    assert refreshed(work, room) == ["new words"]
    assert late in str(work.held())


def test_new_windows_are_written_before_the_old_are_deleted(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    first, second = say("one"), say("two", 1)
    work.refresh()
    work.community.redact(room, "ada", first)
    work.writer.keeping = set(work.stored())
    with pytest.raises(WritesNotAcknowledged, match="0 of 1 deletes"):
        work.refresh()
    assert sorted(each["events"] for each in work.held().values()) == sorted(
        [[first, second], [second]]
    )
    assert work.record(room).state == "failed"
    work.writer.keeping = set()
    assert refreshed(work, room) == ["two"]


# Reading a room whole


def test_the_first_read_commits_as_it_goes_and_is_resumed_at_a_page(
    work: RoomWork, room: str, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_events, "MOST_EVENTS", 10)
    for number in range(60):
        say(f"number {number}", number * 7)
    work.discover()
    work.begin(room)
    assert [work.step(room) for _ in range(3)] == [False] * 3
    assert work.cursor(room).stream is None
    held = len(work.bodies(room))
    assert 25 < held < 50
    asked = work.fuse.calls
    work.discover()
    work.begin(room)
    assert work.cursor(room).again
    work.finish(room)
    assert work.fuse.calls > asked
    check(work, room)


def test_a_step_takes_at_most_so_many_events_and_a_page(
    work: RoomWork, room: str, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_events, "MOST_EVENTS", 10)
    for number in range(40):
        say(f"number {number}", number)
    work.discover()
    work.begin(room)
    read = []
    while True:
        acknowledgement = work.upsert(room)
        work.commit(acknowledgement)
        read.append(acknowledgement.counts.events)
        if acknowledgement.finished:
            break
    assert max(read) <= 10 + 7
    assert sum(read) == len(work.community.rooms[room].placed)


def test_a_resumed_run_goes_forward_once_more_to_what_came_meanwhile(
    work: RoomWork, room: str, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_events, "MOST_EVENTS", 1)
    events = [say(f"number {n}", n) for n in range(9)]
    work.refresh()
    for number in range(30):
        say(f"other {number}", number)
    work.discover()
    work.begin(room)
    for _ in range(3):
        work.step(room)
    work.community.late(room, "bob", "ravens", events[0])  # behind the page that is next
    work.discover()
    work.begin(room)
    work.finish(room)
    assert "ravens" in work.bodies(room)
    check(work, room)


def test_changed_rules_make_every_window_anew_without_embedding_again(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for number in range(20):
        say(f"number {number}", number * 30)
    work.refresh()
    embedded, ids = work.embedder.embedded, set(work.stored())
    work.version = "v2"
    refreshed(work, room)
    assert set(work.stored()) == ids
    assert {each["rules"] for each in work.held().values()} == {"v2"}
    assert work.embedder.embedded == embedded


def test_s_a_new_scrubber_takes_what_the_old_one_left(room: str, work: RoomWork) -> None:
    work.community.send(room, "ada", "the key is ravens", at(0))
    work.refresh()
    work.scrubber.secrets = {"ravens": "bird"}
    work.version = "v2"
    work.refresh()
    assert work.bodies(room) == ["the key is [scrubbed:bird]"]
    assert "ravens" not in work.words()


def test_a_secret_that_ends_in_a_later_run_is_taken_from_the_messages_before_too(
    room: str, work: RoomWork
) -> None:
    work.scrubber.secrets = {"raven\nwolf": "pair"}
    work.community.send(room, "ada", "raven", at(0))
    work.community.send(room, "bob", "hello", at(1))
    work.refresh()
    assert work.bodies(room) == ["raven", "hello"]
    work.community.send(room, "ada", "wolf", at(2))
    work.refresh()
    assert work.bodies(room) == ["[scrubbed:pair]", "hello", "[scrubbed:pair]"]
    assert "raven" not in work.words()
    assert work.stored() == work.clean().stored()


def test_a_room_of_which_nothing_is_shown_keeps_what_is_held(
    work: RoomWork, room: str, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    say("one")
    work.refresh()
    before = work.stored()
    history = type(work.homeserver.room(room))
    monkeypatch.setattr(history, "back", lambda *_: Page((), None))
    with pytest.raises(RoomUnreadable, match="Nothing was deleted"):
        work.read(room, from_start=True)
    assert work.stored() == before
    monkeypatch.undo()
    assert refreshed(work, room) == ["one"]


def deny(work: RoomWork, room: str, most: int) -> None:
    """The homeserver loses the oldest events of a room."""
    placed = work.community.rooms[room].placed
    del placed[10:most]


def test_windows_of_events_that_the_homeserver_denies_go_with_a_full_re_read(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for number in range(40):
        say(f"number {number}", number * 100)
    work.refresh()
    deny(work, room, 20)
    work.refresh()
    assert "number 5" in work.bodies(room)
    work.read(room, from_start=True)
    assert "number 5" not in work.bodies(room)
    check(work, room)


def test_most_of_a_room_denied_is_deleted_only_when_that_was_allowed(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for number in range(150):
        say(f"number {number}", number * 100)
    work.refresh()
    before = work.stored()
    deny(work, room, 140)
    with pytest.raises(TooManyDeletes) as caught:
        work.read(room, from_start=True)
    assert caught.value.stored == 150
    assert 75 < caught.value.deletes <= 150
    assert work.stored().keys() == before.keys()
    work.discover()
    work.read(room, allow_mass_delete=True)
    check(work, room)


def test_redactions_of_most_of_a_room_are_not_held_back(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    events = [say(f"number {number}", number * 100) for number in range(150)]
    work.refresh()
    for event in events[:140]:
        work.community.redact(room, "ada", event)
    work.refresh()
    check(work, room)
    work.version = "v2"
    refreshed(work, room)


def test_windows_of_a_clock_that_was_ahead_are_swept_all_the_same(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    """Another machine's clock, or this one's before it was set right."""
    for number in range(40):
        say(f"number {number}", number * 100)
    work.clock = datetime.now(UTC) + timedelta(hours=5)
    work.refresh()
    work.clock = None
    deny(work, room, 20)
    work.read(room, from_start=True)
    check(work, room)


# Two runs at once


def test_two_runs_at_once_and_the_next_reads_anew(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    first = say("ravens")
    say("two", 1)
    work.refresh()
    say("three", 2)
    work.discover()
    work.begin(room)
    slow = work.upsert(room)
    written = dict(work.writer.held)
    work.commit(slow)
    work.community.redact(room, "ada", first)
    work.refresh()
    assert "ravens" not in work.words()
    work.writer.held.update(written)  # the slow one's writes arrive late, with what was redacted
    work.writer.times |= dict.fromkeys(written, datetime.now(UTC))
    with pytest.raises(CursorMoved):
        work.commit(slow)
    assert work.cursor(room).stream is None
    assert work.cursor(room).version == ""
    work.refresh()
    check(work, room)
    assert "ravens" not in work.words()


def test_a_commit_said_twice_is_one(work: RoomWork, room: str, say: Callable[..., str]) -> None:
    say("one")
    work.discover()
    work.begin(room)
    acknowledgement = work.upsert(room)
    work.commit(acknowledgement)
    cursor = work.cursor(room)
    work.commit(acknowledgement)
    assert work.cursor(room) == cursor
    work.finish(room)
    check(work, room)


def test_a_step_without_a_run_and_one_under_other_rules_are_refused(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("one")
    work.refresh()
    with pytest.raises(NoRunBegun):
        work.upsert(room)
    work.begin(room)
    work.version = "v2"
    with pytest.raises(SettingsChanged):
        work.upsert(room)
    refreshed(work, room)


def test_a_room_as_another_reader_saw_it_is_not_touched(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("one")
    work.refresh()
    before, record = work.stored(), work.record(room)
    work.homeserver.reader = work.community.mxid("bob")
    with pytest.raises(OtherReader, match="Nothing was"):
        work.begin(room)
    assert (work.stored(), work.record(room)) == (before, record)


def test_what_cannot_be_checked_is_not_read_this_time(
    work: RoomWork, room: str, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    say("one")
    work.refresh()
    before = work.stored()
    history = type(work.homeserver.room(room))
    monkeypatch.setattr(history, "state", lambda _: [])
    say("two", 1)
    with pytest.raises(RoomUnchecked, match="cannot be checked"):
        work.begin(room)
    assert work.stored() == before


def test_a_homeserver_that_fails_in_the_middle_loses_nothing(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    original = say("one")
    work.refresh()
    work.community.edit(room, "ada", original, "two", at(1))
    work.homeserver.failing["events"] = HomeserverUnreachable("Nobody answers. Try again.")
    with pytest.raises(HomeserverUnreachable):
        work.refresh()
    assert work.bodies(room) == ["one"]
    assert work.record(room).state == "failed"
    work.homeserver.failing.clear()
    assert refreshed(work, room) == ["two"]


# What is embedded, and read back


def test_one_more_message_embeds_itself_and_its_window(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for number in range(30):
        say(f"number {number} of the talk", number)
    work.refresh()
    before = len(work.embedder.texts)
    say("last", 30)
    work.refresh()
    fresh = work.embedder.texts[before:]
    assert len(fresh) <= 2
    assert any(text == "ada: last" for text in fresh)
    assert all(text.endswith("ada: last") for text in fresh)


def test_a_redaction_embeds_nothing_but_the_windows_that_change(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    events = [say(f"number {number} of the talk", number) for number in range(12)]
    work.refresh()
    before, singles = len(work.embedder.texts), set(work.embedder.texts)
    work.community.redact(room, "ada", events[11])
    refreshed(work, room)
    assert len(work.embedder.texts[before:]) <= 1
    assert singles


def test_vectors_are_read_back_only_from_the_passages_that_are_replaced(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    """The same words in another segment, room or thread are embedded on their own."""
    other = work.room()
    work.community.send(other, "ada", "the same words", at(0))
    say("the same words")
    work.refresh()
    before = len(work.embedder.texts)
    say("the same words", 500)
    work.refresh()
    assert work.embedder.texts[before:] == ["ada: the same words"]


def test_vectors_fit_the_text_after_any_change(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    from tests.support.fakes import vector_of

    events = [say(f"number {number} of the talk", number) for number in range(12)]
    work.refresh()
    work.community.redact(room, "ada", events[0])
    work.community.edit(room, "ada", events[5], "other words", at(20))
    work.refresh()
    for passage, vectors in work.writer.held.values():
        assert list(vectors.window) == vector_of(passage.window)
        assert [list(part) for part in vectors.parts] == [vector_of(p) for p in passage.parts]


def test_nothing_new_asks_three_things_and_embeds_nothing(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("one")
    work.refresh()
    embedded, stored = work.embedder.embedded, work.stored()
    assert work.refresh().nothing_to_do
    assert (work.embedder.embedded, work.stored()) == (embedded, stored)
