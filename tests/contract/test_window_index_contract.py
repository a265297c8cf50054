"""The port WindowIndex: one suite over the fake and the real adapter (spec 4.3, 4.6)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from search.collection import fingerprint_of
from search.connection import connect
from search.passage import Passage
from tasks.adapters import passage_writer, window_index
from tasks.chat_ports import StoredWindow, WindowIndex
from tasks.domain.messages import Message
from tasks.domain.windows import chat_passages, windows
from tasks.ports import PassageWriter, Vectors
from tests.support.events import ALICE, BOB, ROOM, START, message
from tests.support.fake_windows import FakeWindowIndex
from tests.support.fakes import META, FakePassageWriter, vector_of

SOURCE = f"chat:{ROOM}"


@dataclass
class Place:
    """A collection, and what finds its windows."""

    writer: PassageWriter
    index: WindowIndex

    def hold(self, *passages: Passage) -> list[str]:
        pairs = [
            (each, Vectors(vector_of(each.window), [vector_of(part) for part in each.parts]))
            for each in passages
        ]
        assert self.writer.write(pairs) == {each.id for each in passages}
        return [each.id for each in passages]


@pytest.fixture(params=["fake", "real"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "fake":
        writer = FakePassageWriter()
        yield Place(writer, FakeWindowIndex(writer))
        return
    from tasks.adapters.collections import ensure_collection

    settings = request.getfixturevalue("server_settings")
    alias = request.getfixturevalue("collection_name")
    with connect(settings, "writer") as client:
        name = ensure_collection(client, alias, META)
        yield Place(
            passage_writer.WeaviatePassageWriter(client, name),
            window_index.WeaviateWindowIndex(client, name),
        )


def segment(*messages: Message, thread: str = "", room: str = ROOM) -> list[Passage]:
    """The windows of one segment; two short words fill one."""
    packed = windows(
        messages, count_tokens=lambda text: len(text.split()), token_limit=8, max_bytes=12
    )
    return chat_passages(room, thread, packed, rules="r1")


def ids(found: Sequence[StoredWindow]) -> set[str]:
    assert len({each.id for each in found}) == len(found)
    return {each.id for each in found}


def minute(number: float) -> datetime:
    return START + timedelta(minutes=number)


def test_a_window_is_found_with_all_that_is_stored_of_it(place: Place) -> None:
    edited = replace(message("$a", "first one"), edit="$e")
    (passage,) = segment(edited, message("$b", "two", BOB, 3), thread="$root")
    started = datetime.now(UTC)
    place.hold(passage)
    (found,) = place.index.holding(SOURCE, ["$b"])
    assert found == StoredWindow(
        id=passage.id,
        thread="$root",
        segment="$a",
        events=("$a", "$b"),
        edits=("$e",),
        start=START,
        end=minute(3),
        fingerprint=fingerprint_of(passage),
        rules="r1",
        ingested_at=found.ingested_at,
    )
    assert started - timedelta(seconds=1) <= found.ingested_at <= datetime.now(UTC)
    assert found.start.tzinfo is not None


def test_windows_are_found_by_any_of_their_events_and_by_the_edits_in_force(place: Place) -> None:
    one = place.hold(*segment(message("$a", "first one"), replace(message("$b"), edit="$e")))
    two = place.hold(*segment(message("$c", "a long text in several windows, cut", minutes=200)))
    place.hold(*segment(message("$d", "untouched", minutes=400)))
    assert len(two) > 2
    assert ids(place.index.holding(SOURCE, ["$a"])) == {one[0]}
    assert ids(place.index.holding(SOURCE, ["$e", "$none"])) == {one[-1]}
    assert ids(place.index.holding(SOURCE, ["$c", "$b", "$e"])) == {*two, one[-1]}
    assert place.index.holding(SOURCE, ["$none"]) == []
    assert place.index.holding(SOURCE, []) == []


def test_hundreds_of_events_are_asked_for_at_once(place: Place) -> None:
    held = [place.hold(*segment(message(f"$m{n}", minutes=n)))[0] for n in range(250)]
    assert ids(place.index.holding(SOURCE, [f"$m{n}" for n in range(300)])) == set(held)
    assert ids(place.index.segments(SOURCE, "", [f"$m{n}" for n in range(300)])) == set(held)


def test_another_room_with_the_same_events_is_never_found(place: Place) -> None:
    place.hold(*segment(message("$a", "text"), room="!room:example.com"))
    assert place.index.holding(SOURCE, ["$a"]) == []
    assert place.index.neighbours(SOURCE, "", START) == []
    assert place.index.segments(SOURCE, "", ["$a"]) == []
    assert place.index.between(SOURCE, None, START, START) == []
    assert list(place.index.windows(SOURCE)) == []


def test_neighbours_are_whole_segments_on_either_side(place: Place) -> None:
    first = place.hold(*segment(message("$a", "first of all"), message("$b", "second", BOB, 9)))
    place.hold(*segment(message("$far", minutes=-500)))
    second = place.hold(
        *segment(message("$c", "third of all", minutes=100), message("$d", "one more", BOB, 109))
    )
    place.hold(*segment(message("$e", minutes=500)))
    assert len(first) == len(second) == 2
    for moment in (0, 5):  # within the first: its own next window is what comes after
        assert ids(place.index.neighbours(SOURCE, "", minute(moment))) == set(first)
    for moment in (9, 50, 99):
        assert ids(place.index.neighbours(SOURCE, "", minute(moment))) == {*first, *second}
    assert ids(place.index.neighbours(SOURCE, "", minute(100))) == set(second)


def test_before_the_first_and_after_the_last_there_is_one_neighbour(place: Place) -> None:
    held = place.hold(*segment(message("$a", "text")))
    assert ids(place.index.neighbours(SOURCE, "", minute(-1))) == set(held)
    assert ids(place.index.neighbours(SOURCE, "", minute(1))) == set(held)
    assert place.index.neighbours(SOURCE, "$other", minute(1)) == []


def test_segments_that_start_in_the_same_millisecond_are_all_neighbours(place: Place) -> None:
    place.hold(*segment(message("$far", minutes=-500)))
    alike = [place.hold(*segment(message(f"$a{n}", "text here, cut")))[0] for n in range(4)]
    later = [place.hold(*segment(message(f"$z{n}", minutes=300)))[0] for n in range(3)]
    assert {*alike, *later} <= ids(place.index.neighbours(SOURCE, "", START))
    assert {*alike, *later} <= ids(place.index.neighbours(SOURCE, "", minute(1)))
    before = ids(place.index.neighbours(SOURCE, "", START - timedelta(milliseconds=1)))
    assert set(alike) <= before
    assert not before & set(later)


def test_neighbours_are_of_the_thread_asked_for(place: Place) -> None:
    main = place.hold(*segment(message("$a")))
    thread = place.hold(*segment(message("$b"), thread="$a"))
    assert ids(place.index.neighbours(SOURCE, "", minute(1))) == set(main)
    assert ids(place.index.neighbours(SOURCE, "$a", minute(1))) == set(thread)


def test_a_segment_is_found_by_its_name_in_its_own_thread(place: Place) -> None:
    main = place.hold(*segment(message("$a", "first of all"), message("$b", "second", BOB)))
    place.hold(*segment(message("$a"), thread="$root"), *segment(message("$c", minutes=99)))
    assert ids(place.index.segments(SOURCE, "", ["$a", "$none"])) == set(main)
    assert place.index.segments(SOURCE, "", ["$b"]) == []


def test_between_takes_both_ends_and_whatever_reaches_in(place: Place) -> None:
    (held,) = place.hold(*segment(message("$a", "one"), message("$b", "two", BOB, 10)))
    thread = place.hold(*segment(message("$c", minutes=5), thread="$a"))

    def found(first: float, last: float, thread: str | None = "") -> set[str]:
        return ids(place.index.between(SOURCE, thread, minute(first), minute(last)))

    assert found(10, 20) == found(-5, 0) == found(4, 6) == found(-5, 20) == {held}
    assert found(10.001, 20) == found(-5, -0.001) == set()
    assert found(4, 6, None) == {held, *thread}
    assert found(4, 6, "$a") == set(thread)


def test_all_windows_are_listed_however_many(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's longest answer is made small, so that the listing has to be cut."""
    passages = [segment(message(f"$m{n}", minutes=n))[0] for n in range(150)]
    place.hold(*passages)
    place.hold(*segment(message("$other"), room="!other:example.org"))
    monkeypatch.setattr(passage_writer, "MOST", 20)
    monkeypatch.setattr(window_index, "MOST", 20)
    assert ids(list(place.index.windows(SOURCE))) == {each.id for each in passages}


def test_an_answer_longer_than_the_server_gives_is_whole(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    passages = segment(message("$a", "words of a long text, " * 40))
    assert len(passages) > 40
    place.hold(*passages)
    monkeypatch.setattr(passage_writer, "MOST", 20)
    monkeypatch.setattr(window_index, "MOST", 20)
    whole = {each.id for each in passages}
    assert ids(place.index.holding(SOURCE, ["$a"])) == whole
    assert ids(place.index.segments(SOURCE, "", ["$a"])) == whole
    assert ids(place.index.neighbours(SOURCE, "", START)) == whole
    assert ids(place.index.between(SOURCE, None, START, START)) == whole


def test_windows_come_back_with_a_vector_for_each_turn_in_order(place: Place) -> None:
    (passage,) = segment(
        message("$a", "one", ALICE), message("$b", "two", BOB, 1), message("$c", "six", ALICE, 2)
    )
    other = place.hold(*segment(message("$d", minutes=100)))
    place.hold(passage)
    ((turns, vectors),) = place.index.held([passage.id, "00000000-0000-5000-8000-000000000000"])
    assert turns == passage.turns
    assert list(vectors.window) == pytest.approx(vector_of(passage.window), abs=1e-6)
    for part, text in zip(vectors.parts, passage.parts, strict=True):
        assert list(part) == pytest.approx(vector_of(text), abs=1e-6)
    assert len(list(place.index.held([passage.id, *other]))) == 2
    assert list(place.index.held([])) == []


def test_hundreds_of_windows_come_back_with_their_vectors(place: Place) -> None:
    passages = [segment(message(f"$m{n}", minutes=n))[0] for n in range(230)]
    held = place.hold(*passages)
    found = {turns[0].event for turns, _ in place.index.held(held)}
    assert found == {f"$m{n}" for n in range(230)}
