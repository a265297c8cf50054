"""A range of a room over fakes: what is put right, what is left alone, what is covered."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks import room_events, room_sweep
from tasks.domain.purges import Purge
from tasks.domain.ranges import SLACK, Range
from tasks.errors import CursorMoved, RoomUnreadable, SettingsChanged, TooManyDeletes
from tasks.range_records import RANGE, range_of
from tasks.ranges import commit_range
from tasks.room_range import begin_range, upsert_range
from tests.support.fake_rooms import Boundaries, Crash, RoomWork, at, expected

DAY = 24 * 60


@pytest.fixture(autouse=True)
def _steps() -> Any:
    before = room_events.MOST_EVENTS, room_sweep.AT_ONCE
    yield
    room_events.MOST_EVENTS, room_sweep.AT_ONCE = before


@pytest.fixture
def work() -> RoomWork:
    return RoomWork()


@pytest.fixture
def room(work: RoomWork) -> str:
    return work.room()


@pytest.fixture
def say(work: RoomWork, room: str) -> Callable[..., str]:
    def sent(body: str, minutes: float = 0, who: str = "ada") -> str:
        return work.community.send(room, who, body, at(minutes))

    return sent


def step(work: RoomWork, room: str, **options: bool) -> bool:
    acknowledgement = upsert_range(work.context(room), **options)
    commit_range(work.chat.store, acknowledgement)
    return acknowledgement.finished


def finish(work: RoomWork, room: str, **options: bool) -> None:
    while not step(work, room, **options):
        pass


def begin(work: RoomWork, room: str, first: datetime | None, last: datetime | None) -> bool:
    work.discover()
    return begin_range(work.context(room), Range(first, last))


def backfill(
    work: RoomWork, room: str, first: datetime | None = None, last: datetime | None = None
) -> None:
    """A whole chain, as ``flows.ranges``."""
    if not begin(work, room, first, last):
        work.finish(room)
        return
    finish(work, room)


def lose(work: RoomWork, *bodies: str) -> None:
    for identifier, (passage, _) in [*work.writer.held.items()]:
        if any(body in passage.text for body in bodies):
            del work.writer.held[identifier]


def test_what_was_lost_in_the_range_comes_back_and_what_lies_outside_is_left_alone(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for day in range(5):
        say(f"day {day}", day * DAY)
    work.refresh()
    before, record = work.stored(), work.record(room)
    lose(work, "day 1", "day 3")
    backfill(work, room, at(3 * DAY), at(3 * DAY))
    assert work.bodies(room) == ["day 0", "day 2", "day 3", "day 4"]
    backfill(work, room, at(0), at(2 * DAY))
    assert work.stored() == before
    assert work.record(room).room == record.room
    assert work.record(room).state == "current"
    assert range_of(work.ledger, f"chat:{room}") is None


def test_the_cursor_stays_and_news_are_left_to_the_next_refresh(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    old = say("old", 0)
    work.refresh()
    cursor = work.cursor(room)
    say("new", 2 * DAY)
    work.community.edit(room, "ada", old, "edited", at(3 * DAY))
    backfill(work, room, at(-5), at(5))
    assert work.cursor(room) == cursor
    assert work.bodies(room) == ["edited"]
    work.refresh()
    assert work.stored() == work.clean().stored()


def test_a_redaction_counts_in_a_range_whether_or_not_a_refresh_saw_it(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("stays", 0)
    seen, unseen = say("goes early", 1), say("goes late", 2)
    work.refresh()
    work.community.redact(room, "ada", seen)
    work.refresh()
    work.community.redact(room, "ada", unseen)
    backfill(work, room, at(0), at(10))
    assert work.bodies(room) == ["stays"]
    assert work.stored() == work.clean().stored()


def test_events_that_the_homeserver_dropped_without_a_redaction_go_in_the_range_only(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    dropped = {say("dropped here", 0), say("dropped there", 2 * DAY), say("dropped between", 10)}
    say("around", 5)
    say("around too", 15)
    work.refresh()
    held = work.community.rooms[room]
    held.placed = [each for each in held.placed if each.event["event_id"] not in dropped]
    backfill(work, room, at(9), at(11))
    assert work.bodies(room) == ["around", "around too", "dropped there"]


def test_a_homeserver_that_denies_most_of_a_range_stops_it(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for hour in range(120):
        say(f"message {hour}", hour * 120)
    work.refresh()
    held = work.stored()
    own = work.community.rooms[room]
    own.placed = [each for each in own.placed if each.event["type"] != "m.room.message"]
    assert begin(work, room, None, None)
    with pytest.raises(TooManyDeletes):
        finish(work, room)
    assert work.stored() == held
    finish(work, room, allow_mass_delete=True)
    assert work.stored() == {}


def test_a_room_that_answers_nothing_at_all_is_not_an_empty_one(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("held")
    work.refresh()
    assert begin(work, room, at(-1), None)
    work.community.rooms[room].placed.clear()
    with pytest.raises(RoomUnreadable):
        step(work, room)
    assert work.bodies(room) == ["held"]


def test_what_a_purge_covers_does_not_come_back(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("purged", 0)
    say("stays", 5)
    work.purge(Purge(room, at(-1), at(1)))
    work.refresh()
    backfill(work, room, at(-10), at(10))
    assert work.bodies(room) == ["stays"]


def test_a_walk_ends_a_day_before_the_range(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for hour in range(200):
        say(f"hour {hour}", hour * 60)
    work.refresh()
    work.homeserver.page_events = 1
    room_events.MOST_EVENTS = 1_000
    assert begin(work, room, at(190 * 60), None)
    cursor = range_of(work.ledger, f"chat:{room}")
    assert cursor is not None
    start = work.fuse.calls
    step(work, room)
    assert work.fuse.calls - start < 200
    assert timedelta(days=1) == SLACK


def test_a_room_that_was_never_read_is_covered_from_there_on_only(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    early = say("too early", 0)
    say("just before", 9)
    say("just after", 11)
    say("later", 60)
    backfill(work, room, at(10))
    assert work.bodies(room) == ["just after", "later"]
    assert work.cursor(room).covered == at(10).isoformat()
    assert work.record(room).state == "current"
    say("news", 70)
    work.community.edit(room, "ada", early, "edited, still too early", at(80))
    work.refresh()
    assert work.bodies(room) == ["just after", "later", "news"]
    assert work.cursor(room).covered == at(10).isoformat()


def test_changed_rules_and_a_cursor_that_vouches_for_nothing_keep_how_far_back_it_is_covered(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("too early", 0)
    say("covered", 20)
    backfill(work, room, at(10))
    work.version = "v2"
    work.refresh()
    assert work.bodies(room) == ["covered"]
    assert work.cursor(room).covered == at(10).isoformat()
    backfill(work, room, at(15))
    assert work.cursor(room).covered == at(10).isoformat()


@pytest.mark.parametrize("last", [None, 10], ids=["to now", "to a time long before"])
def test_a_later_backfill_goes_further_back_and_leaves_no_hole(
    work: RoomWork, room: str, say: Callable[..., str], last: int | None
) -> None:
    for minute in range(0, 200, 10):
        say(f"minute {minute}", minute)
    backfill(work, room, at(150))
    stream = work.cursor(room).stream
    backfill(work, room, at(100), None if last is None else at(last + 100))
    assert work.bodies(room) == [f"minute {minute}" for minute in range(100, 200, 10)]
    assert work.cursor(room).covered == at(100).isoformat()
    backfill(work, room, None, None if last is None else at(last))
    assert work.cursor(room).covered == ""
    assert work.cursor(room).stream == stream
    assert work.stored() == work.clean().stored()


def test_a_range_inside_what_is_covered_changes_nothing_of_that(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("too early", 0)
    say("covered", 20)
    backfill(work, room, at(10))
    backfill(work, room, at(15), at(30))
    assert work.cursor(room).covered == at(10).isoformat()
    assert work.bodies(room) == ["covered"]


def test_a_wider_range_takes_up_what_one_that_was_cut_short_left(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for day in range(6):
        say(f"day {day}", day * DAY)
    work.refresh()
    before = work.stored()
    lose(work, "day 1", "day 4")
    assert begin(work, room, at(4 * DAY), None)
    assert begin(work, room, at(DAY), at(DAY))
    pending = range_of(work.ledger, f"chat:{room}")
    assert pending is not None
    assert pending.bounds == Range(at(DAY), None)
    finish(work, room)
    assert work.stored() == before


def test_a_backfill_of_the_same_range_goes_on_where_it_was_cut_short(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for day in range(30):
        say(f"day {day}", day * DAY)
    work.refresh()
    room_events.MOST_EVENTS = 7
    assert begin(work, room, at(0), None)
    step(work, room)
    pending = range_of(work.ledger, f"chat:{room}")
    assert begin(work, room, at(0), None)
    assert range_of(work.ledger, f"chat:{room}") == pending
    assert pending is not None
    assert pending.page != pending.target


def test_a_step_that_was_done_twice_does_not_move_the_range_twice(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    for day in range(30):
        say(f"day {day}", day * DAY)
    work.refresh()
    room_events.MOST_EVENTS = 7
    assert begin(work, room, at(0), None)
    late = upsert_range(work.context(room))
    commit_range(work.chat.store, late)
    commit_range(work.chat.store, late)
    step(work, room)
    with pytest.raises(CursorMoved):
        commit_range(work.chat.store, late)


def test_rules_that_change_in_the_middle_end_the_backfill(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("words")
    work.refresh()
    assert begin(work, room, at(-1), None)
    work.version = "v2"
    with pytest.raises(SettingsChanged):
        step(work, room)


def test_a_room_that_is_gone_leaves_no_range_behind(
    work: RoomWork, room: str, say: Callable[..., str]
) -> None:
    say("words")
    work.refresh()
    assert begin(work, room, at(-1), None)
    work.community.kick(room, "ada", "reader")
    work.refresh()
    assert work.ledger.documents(RANGE) == {}


@given(
    minutes=st.lists(st.integers(0, 600), min_size=1, max_size=25),
    lost=st.sets(st.integers(0, 30)),
    first=st.integers(-10, 600),
    length=st.integers(0, 300),
    most=st.sampled_from([1, 3, 1_000]),
    data=st.data(),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_loss_is_mended_in_the_segments_that_meet_the_range_and_nowhere_else(
    minutes: list[int],
    lost: set[int],
    first: int,
    length: int,
    most: int,
    data: st.DataObject,
) -> None:
    work = RoomWork(Boundaries(4))
    room = work.room()
    root = work.community.send(room, "bob", "root", at(0))
    for number, minute in enumerate(sorted(minutes)):
        thread = data.draw(st.booleans(), label="in the thread")
        body = f"word {number}"
        if thread:
            work.community.reply(room, "ada", root, body, at(minute))
        else:
            work.community.send(room, "ada", body, at(minute))
    work.refresh()
    before, cursor = dict(work.writer.held), work.cursor(room)
    for number, identifier in enumerate(sorted(before)):
        if number in lost:
            del work.writer.held[identifier]
    bounds = Range(at(first), at(first + length))
    spans: dict[tuple[str, str], list[datetime]] = {}
    for passage, _ in before.values():
        times = spans.setdefault((passage.thread, passage.segment), [])
        times += [turn.at for turn in passage.turns]
    wanted = {
        identifier
        for identifier, (passage, _) in before.items()
        if identifier in work.writer.held
        or bounds.meets(
            min(spans[passage.thread, passage.segment]), max(spans[passage.thread, passage.segment])
        )
    }
    room_events.MOST_EVENTS = most
    backfill(work, room, bounds.first, bounds.last)
    assert work.writer.held.keys() == wanted
    assert work.cursor(room) == cursor


@given(
    calls=st.integers(1, 400),
    after=st.booleans(),
    start=st.sampled_from([None, 0, 100]),
    refreshed=st.booleans(),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_backfill_that_dies_anywhere_and_is_run_again_ends_as_a_clean_run(
    *, calls: int, after: bool, start: int | None, refreshed: bool
) -> None:
    """``start``: the room was covered from there only; a refresh may come between."""
    work = RoomWork(Boundaries(4))
    room = work.room()
    for minute in range(0, 200, 9):
        work.community.send(room, "ada", f"minute {minute}", at(minute))
    if start:
        backfill(work, room, at(start))
    else:
        work.refresh()
        lose(work, "minute 9", "minute 90", "minute 171")
    room_events.MOST_EVENTS = 5
    work.fuse.left, work.fuse.after = calls, after
    with suppress(Crash):
        backfill(work, room)
    work.fuse.left = None
    if refreshed:
        work.community.send(room, "ada", "in between", at(200))
        work.refresh()
    backfill(work, room)
    work.refresh()
    assert work.stored() == work.clean().stored()
    assert work.bodies(room) == expected(work, room)
    assert work.cursor(room).covered == ""
    assert work.record(room).state == "current"
