"""Cases of chat that a whole run shows, over fakes (spec 4.5, 4.8)."""

import pytest

from search.collection import turns_of
from tests.support.fake_rooms import RoomWork, at


@pytest.fixture
def work() -> RoomWork:
    return RoomWork(page_events=50)


def test_m06_a_small_room_is_read_once_whole_and_the_next_read_finds_no_event(
    work: RoomWork,
) -> None:
    room = work.room()
    sent = [work.community.send(room, "ada", f"word {number}", at(number)) for number in range(3)]
    work.refresh()
    held = [turn.event for each in work.held(room).values() for turn in turns_of(each)]
    assert sorted(held) == sorted(sent)
    stored, embedded = work.stored(), work.embedder.embedded
    work.begin(room)
    again = work.upsert(room)
    assert (again.counts.events, again.finished) == (0, True)
    assert (work.stored(), work.embedder.embedded) == (stored, embedded)


def test_m14_after_an_edit_the_old_words_are_in_nothing_that_is_searched(work: RoomWork) -> None:
    room = work.room()
    original = work.community.send(room, "ada", "meet at the bar", at(0))
    work.refresh()
    work.community.edit(room, "ada", original, "meet at the foo", at(1))
    work.refresh()
    ((passage, _),) = work.writer.held.values()
    assert "foo" in passage.keywords.split()
    searched = " ".join([passage.keywords, passage.window, *passage.parts])
    assert "bar" not in searched
