"""Any order and any cutting into increments of the same events gives the same passages (4.3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks import room_events, room_sweep
from tests.support.fake_rooms import Boundaries, RoomWork, arrive, at, expected

MINUTES = st.sampled_from([0, 0, 1, 20, 55, 61, 115, 116, 170, 171, 400])
PICTURE = {"msgtype": "m.image", "body": "picture.png", "url": "mxc://community.test/picture"}
PEOPLE = st.sampled_from(["ada", "bob"])


@dataclass(frozen=True)
class Act:
    """What somebody does; ``of`` chooses one of the messages before."""

    kind: str
    who: str
    minute: int
    words: int
    of: int


ACTS = st.builds(
    Act,
    kind=st.sampled_from(["send", "send", "send", "reply", "edit", "edit", "redact"]),
    who=PEOPLE,
    minute=MINUTES,
    words=st.integers(0, 12),
    of=st.integers(0, 30),
)


@pytest.fixture(autouse=True, scope="module")
def _limits() -> Iterator[None]:
    before = room_events.MOST_EVENTS, room_sweep.AT_ONCE
    yield
    room_events.MOST_EVENTS, room_sweep.AT_ONCE = before


def told(acts: list[Act]) -> list[dict[str, Any]]:
    """The events of a conversation, as they were sent."""
    away = Boundaries(4)
    room = away.room("ada", "bob", "reader")  # as there: no id of theirs is one of these
    start = len(away.rooms[room].placed)
    sent: list[tuple[str, str]] = []
    for number, act in enumerate(acts):
        who, of = sent[act.of % len(sent)] if sent else ("", "")
        text = " ".join([f"q{number}", *["talk"] * act.words])
        if act.kind == "edit" and of:
            content = PICTURE if act.words == 0 else text
            sent.append((who, away.edit(room, who, of, content, at(act.minute))))
        elif act.kind == "redact" and of:
            away.event(room, who, "m.room.redaction", {"redacts": of}, at(act.minute))
        elif act.kind == "reply" and of:
            sent.append((act.who, away.reply(room, act.who, of, text, at(act.minute))))
        else:
            sent.append((act.who, away.send(room, act.who, text, at(act.minute))))
    return [each.event for each in away.rooms[room].placed[start:]]


def in_one_go(events: list[dict[str, Any]]) -> RoomWork:
    room_events.MOST_EVENTS, room_sweep.AT_ONCE = 1_000, 100
    work = RoomWork(Boundaries(4), page_events=100)
    room = work.room()
    arrive(work.community, room, events)
    work.refresh()
    assert work.bodies(room) == expected(work, room)
    return work


@given(
    acts=st.lists(ACTS, min_size=1, max_size=25),
    data=st.data(),
    page_events=st.integers(1, 7),
    most=st.sampled_from([1, 2, 5, 20]),
)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_m07_any_order_and_any_increments_give_the_passages_of_one_run(
    acts: list[Act], data: st.DataObject, page_events: int, most: int
) -> None:
    events = told(acts)
    whole = in_one_go(events)
    order = data.draw(st.permutations(range(len(events))), label="order of arrival")
    cuts = data.draw(st.sets(st.integers(0, len(events))), label="runs before")
    room_events.MOST_EVENTS = most
    work = RoomWork(Boundaries(4), page_events=page_events)
    room = work.room()
    for place, number in enumerate(order):
        if place in cuts:
            work.refresh()
        arrive(work.community, room, [events[number]])
    work.refresh()
    assert work.texts() == whole.texts()
    assert work.stored() == whole.stored()


@given(acts=st.lists(ACTS, min_size=1, max_size=25), cuts=st.sets(st.integers(0, 25)))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_increments_embed_no_more_than_the_segments_that_they_touch(
    acts: list[Act], cuts: set[int]
) -> None:
    """And what a window that stays says is never embedded again."""
    events = told(acts)
    room_events.MOST_EVENTS, room_sweep.AT_ONCE = 1_000, 100
    work = RoomWork(Boundaries(4))
    room = work.room()
    for place, event in enumerate(events):
        if place in cuts:
            before = {
                text
                for passage, _ in work.writer.held.values()
                for text in (passage.window, *passage.parts)
            }
            start = len(work.embedder.texts)
            work.refresh()
            fresh = work.embedder.texts[start:]
            after = {
                text
                for passage, _ in work.writer.held.values()
                for text in (passage.window, *passage.parts)
            }
            assert set(fresh) <= after
            singles = {text for text in fresh if "\n" not in text}
            assert not singles & before
        arrive(work.community, room, [event])
