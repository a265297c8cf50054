"""Ranges of time that a backfill goes through: bounds, and the whole segments that meet them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.errors import UsageError
from tasks.domain.messages import Message
from tasks.domain.ranges import (
    SLACK,
    Edges,
    Range,
    RangeCursor,
    asked_range,
    taken,
    wider,
)
from tasks.domain.segments import is_boundary, segments

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
PLAIN = [f"$plain{number}" for number in range(900) if not is_boundary(f"$plain{number}")]
BORDERS = [f"$border{number}" for number in range(4_000) if is_boundary(f"$border{number}")]


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def said(minutes: float, event: str = "", thread: str = "") -> Message:
    return Message(event or PLAIN[int(minutes)], "@ada:x", at(minutes), thread, "words")


def walked(bounds: Range, steps: Sequence[Sequence[Message]]) -> set[str]:
    found: set[str] = set()
    edges = Edges()
    for step in steps:
        more, edges = taken(bounds, edges, step)
        found |= more
        edges = RangeCursor.from_json(RangeCursor("v", "back", edges=edges).as_json()).edges
    return found


def names(messages: Sequence[Message]) -> set[str]:
    return {each.event for each in messages}


def test_both_bounds_are_included_and_none_is_none() -> None:
    bounds = Range(at(0), at(10))
    assert [bounds.holds(at(minute)) for minute in (-1, 0, 10, 11)] == [False, True, True, False]
    assert Range().holds(at(0))
    assert bounds.meets(at(-5), at(0))
    assert bounds.meets(at(-5), at(20))
    assert not bounds.meets(at(11), at(12))


def test_joined_ranges_hold_both_and_an_open_end_stays_open() -> None:
    assert Range(at(0), at(5)).joined(Range(at(9), at(12))) == Range(at(0), at(12))
    assert Range(None, at(5)).joined(Range(at(9), None)) == Range()


@pytest.mark.parametrize(
    ("since", "until", "named", "told"),
    [
        ("yesterday", None, "--from", "no time"),
        (None, "soon", "--to", "no time"),
        ("2026-01-01T10:00:00", None, "--from", "no time"),
        ("2026-06-02", None, "--from", "in the future"),
        (None, "2026-06-01T12:00:01Z", "--to", "in the future"),
        ("2026-05-02", "2026-05-01", "--from", "after --to"),
        ("2d", "1w", "--from", "after --to"),
    ],
)
def test_a_bad_range_is_refused_and_the_bound_is_named(
    since: str | None, until: str | None, named: str, told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        asked_range(since, until, now=NOW)
    assert named in str(caught.value)
    assert told in str(caught.value)


def test_a_day_is_taken_whole_and_today_up_to_now() -> None:
    found = asked_range("2026-05-01", "2026-05-01", now=NOW)
    assert found == Range(
        datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 1, 23, 59, 59, 999999, tzinfo=UTC)
    )
    assert asked_range(None, "2026-06-01", now=NOW) == Range(None, NOW)
    assert asked_range("2w", None, now=NOW) == Range(NOW - timedelta(weeks=2), None)
    assert asked_range(None, None, now=NOW) == Range()


def test_a_segment_across_the_end_is_taken_whole_though_its_later_part_was_met_before() -> None:
    bounds = Range(at(0), at(10))
    later, inside = [said(11), said(30)], [said(5)]
    assert walked(bounds, [later, inside]) == names([*later, *inside])


def test_a_segment_across_the_start_is_taken_whole_though_it_goes_on_in_the_next_page() -> None:
    bounds = Range(at(100), None)
    steps = [[said(120)], [said(90)], [said(40)]]
    assert walked(bounds, steps) == names([each for step in steps for each in step])


def test_talk_that_a_long_silence_or_a_border_sets_apart_is_left_alone() -> None:
    border = said(200, BORDERS[0])
    inside, after = [said(100), said(130)], [said(191), said(195)]
    assert walked(Range(at(100), at(150)), [after, inside, [said(39)]]) == names(inside)
    assert walked(Range(at(150), at(190)), [[border, said(201)], [said(170)]]) == {PLAIN[170]}
    own = said(160, BORDERS[1])
    assert walked(Range(at(150), None), [[own], [said(149)]]) == {own.event}


def test_threads_are_apart() -> None:
    inside, aside = said(50), said(61, thread="$root")
    assert walked(Range(at(40), at(60)), [[aside], [inside]]) == {inside.event}


def test_what_is_remembered_does_not_grow_with_the_threads_that_the_walk_left_behind() -> None:
    edges = Edges()
    for day in range(30, 0, -1):
        moment = at(day * 24 * 60)
        _, edges = taken(
            Range(None, at(0)),
            edges,
            [Message(f"${day}", "@ada:x", moment, f"$root{day}", "words")],
        )
    assert len(edges.later) <= 1 + SLACK / timedelta(days=1)


@given(
    times=st.lists(st.integers(0, 399), min_size=1, max_size=40, unique=True),
    threads=st.data(),
    first=st.integers(-20, 400),
    length=st.integers(0, 200),
    most=st.integers(1, 7),
)
def test_a_walk_in_any_steps_takes_just_the_segments_whose_span_meets_the_range(
    times: list[int], threads: st.DataObject, first: int, length: int, most: int
) -> None:
    messages = []
    for minute in sorted(times, reverse=True):
        thread = threads.draw(st.sampled_from(["", "$root"]))
        border = threads.draw(st.integers(0, 5)) == 0
        messages.append(said(minute, f"{BORDERS[minute % 100]}" if border else "", thread))
    messages = list({each.event: each for each in messages}.values())
    bounds = Range(at(first), at(first + length))
    wanted: set[str] = set()
    for thread in ("", "$root"):
        for segment in segments([each for each in messages if each.thread == thread]):
            if bounds.meets(segment[0].at, segment[-1].at):
                wanted |= names(segment)
    steps = [messages[start : start + most] for start in range(0, len(messages), most)]
    assert walked(bounds, steps) == wanted


def test_the_floor_follows_the_oldest_message_taken() -> None:
    assert Edges().floor(Range()) is None
    assert Edges().floor(Range(at(10))) == at(10) - SLACK
    _, edges = taken(Range(at(10)), Edges(), [said(11), said(0)])
    assert edges.floor(Range(at(10))) == at(0) - SLACK


def test_the_start_of_the_room_covers_more_than_any_time() -> None:
    early, late = at(0).isoformat(), at(10).isoformat()
    assert wider("", late) == wider(late, "") == ""
    assert wider(early, late) == wider(late, early) == early


def test_the_ledger_gives_back_the_cursor_it_was_given() -> None:
    _, edges = taken(Range(at(0), at(20)), Edges(), [said(30, thread="$root"), said(25), said(5)])
    cursor = RangeCursor(
        "v1",
        "back",
        since=at(0).isoformat(),
        until=at(20).isoformat(),
        page="t1",
        target="s9",
        began=at(90).isoformat(),
        extends=True,
        edges=edges,
    )
    assert RangeCursor.from_json(cursor.as_json()) == cursor
    assert cursor.bounds == Range(at(0), at(20))
