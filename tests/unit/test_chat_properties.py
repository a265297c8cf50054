"""What holds for any talk: segments, windows, scrubbing (spec 4.2, 4.3)."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from search.passage import Passage, Turn
from tasks.adapters.scrubbing import BetterleaksScrubber
from tasks.domain.messages import Message
from tasks.domain.room_scrub import scrubbed
from tasks.domain.segments import segments, starts_segment
from tasks.domain.windows import NOTHING, chat_passages, embedded_form, says_nothing, windows
from tests.support.events import ALICE, BOB, ROOM, START
from tests.support.planted_secrets import FAMILIES

GAP, MODULUS = timedelta(minutes=60), 4
TOKENS, BYTES = 24, 80
SCRUBBER = BetterleaksScrubber()


def words(text: str) -> int:
    """A counter of tokens: words, no shorter than their bytes by more than eight times, and two."""
    return sum(1 + len(word.encode()) // 8 for word in text.split()) + 2


def packed(segment: Sequence[Message]) -> list[tuple[object, ...]]:
    return windows(segment, count_tokens=words, token_limit=TOKENS, max_bytes=BYTES)


def passages_of(messages: Sequence[Message]) -> dict[str, list[Passage]]:
    """The passages of a timeline by the first event of their segment."""
    return {
        segment[0].event: chat_passages(ROOM, "", packed(segment), rules="r1")
        for segment in segments(messages, gap=GAP, modulus=MODULUS)
    }


sentences = st.lists(st.sampled_from(["Yes.", "No way!", "see", "a b c", "é字", "x" * 30, "\n"]))
bodies = st.one_of(
    sentences.map(" ".join),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=200),
    st.sampled_from(["word " * 60, "y" * 300, "One. Two. " * 20, "[scrubbed:password]"]),
).filter(str.strip)
moments = st.integers(0, 40).map(lambda steps: START + timedelta(minutes=20 * steps))


@st.composite
def talks(draw: st.DrawFn, least: int = 0) -> list[Message]:
    """Messages of one timeline, each id once, in any order."""
    numbers = draw(st.lists(st.integers(0, 99), min_size=least, max_size=12, unique=True))
    return [
        Message(
            f"${number}",
            draw(st.sampled_from([ALICE, BOB, f"@{'c' * 60}:example.org"])),
            draw(moments),
            "",
            draw(bodies),
        )
        for number in numbers
    ]


@given(talks())
@settings(deadline=None)
def test_segments_hold_each_message_once_and_start_where_they_must(talk: list[Message]) -> None:
    found = segments(talk, gap=GAP, modulus=MODULUS)
    flat = [message for segment in found for message in segment]
    assert flat == sorted(talk, key=lambda message: message.order)
    starts = {segment[0].event for segment in found}
    for before, message in pairwise(flat):
        assert (message.event in starts) == starts_segment(
            message, before, gap=GAP, modulus=MODULUS
        )


@given(talks())
@settings(max_examples=150, deadline=None)
def test_windows_cover_each_message_once_in_order(talk: list[Message]) -> None:
    for segment in segments(talk, gap=GAP, modulus=MODULUS):
        turns = [turn for window in packed(segment) for turn in window]
        assert list(dict.fromkeys(turn.event for turn in turns)) == [m.event for m in segment]
        for message in segment:
            pieces = [turn.body for turn in turns if turn.event == message.event]
            assert "".join("".join(pieces).split()) == "".join(message.body.split())
            alone = [Turn(event="", sender=message.sender, at=START, body=message.body)]
            cut = words(embedded_form(alone)) > TOKENS or len(message.body.encode()) > BYTES
            assert cut or says_nothing(message.body) or pieces == [message.body]


@given(talks())
@settings(max_examples=150, deadline=None)
def test_windows_keep_their_bounds(talk: list[Message]) -> None:
    for segment in segments(talk, gap=GAP, modulus=MODULUS):
        for window in packed(segment):
            assert window
            assert sum(len(turn.body.encode()) for turn in window) <= BYTES
            embedded = embedded_form(window)
            assert embedded == NOTHING or words(embedded) <= TOKENS
            events = [turn.event for turn in window]
            assert len(set(events)) == len(events)


@given(talks())
@settings(max_examples=150, deadline=None)
def test_no_window_could_have_held_the_message_behind_it(talk: list[Message]) -> None:
    for segment in segments(talk, gap=GAP, modulus=MODULUS):
        for window, following in pairwise(packed(segment)):
            joined = [*window, following[0]]
            size = sum(len(turn.body.encode()) for turn in joined)
            same = window[-1].event == following[0].event
            assert same or size > BYTES or words(embedded_form(joined)) > TOKENS


@given(st.data(), talks())
@settings(deadline=None)
def test_m07_passages_do_not_depend_on_the_order_of_reading(
    data: st.DataObject, talk: list[Message]
) -> None:
    assert passages_of(data.draw(st.permutations(talk))) == passages_of(talk)


@given(talks())
@settings(deadline=None)
def test_every_passage_has_an_id_of_its_own(talk: list[Message]) -> None:
    ids = [passage.id for found in passages_of(talk).values() for passage in found]
    assert len(set(ids)) == len(ids)


def changed_segments(one: Sequence[Message], other: Sequence[Message]) -> set[str]:
    """First events of the segments whose passages are not the same in both talks."""
    left, right = passages_of(one), passages_of(other)
    return {first for first in left.keys() | right.keys() if left.get(first) != right.get(first)}


def around(talk: Sequence[Message], event: str) -> set[str]:
    """First events of the segment that holds an event, and of the one before if it begins it."""
    found = segments(talk, gap=GAP, modulus=MODULUS)
    place = next(n for n, part in enumerate(found) if event in {m.event for m in part})
    begins = found[place][0].event == event
    return {part[0].event for part in found[max(0, place - begins) : place + 1]}


@given(talks(least=1), st.data())
@settings(max_examples=150, deadline=None)
def test_a_message_that_goes_changes_its_segment_and_its_neighbour_if_it_began_it(
    talk: list[Message], data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(talk))
    rest = [message for message in talk if message != gone]
    touched = changed_segments(talk, rest) & passages_of(talk).keys()
    assert touched <= around(talk, gone.event)


@given(talks(least=1), st.data())
@settings(max_examples=150, deadline=None)
def test_a_message_that_comes_changes_at_most_the_segments_on_either_side_of_it(
    talk: list[Message], data: st.DataObject
) -> None:
    new = data.draw(st.sampled_from(talk))
    before = [message for message in talk if message != new]
    found = segments(before, gap=GAP, modulus=MODULUS)
    earlier = [part[0].event for part in found if part[0].order < new.order][-1:]
    later = [part[0].event for part in found if part[0].order > new.order][:1]
    touched = changed_segments(before, talk) & passages_of(before).keys()
    assert touched <= {*earlier, *later}


@given(talks(least=1), st.data(), bodies)
@settings(max_examples=150, deadline=None)
def test_an_edit_changes_its_own_segment_alone(
    talk: list[Message], data: st.DataObject, body: str
) -> None:
    old = data.draw(st.sampled_from(talk))
    assume(old.body != body)
    edited = [replace(m, body=body, edit="$e") if m == old else m for m in talk]
    own = next(part[0].event for part in segments(talk, gap=GAP, modulus=MODULUS) if old in part)
    assert changed_segments(talk, edited) == {own}


families = st.sampled_from(sorted(FAMILIES))
chatter = st.lists(
    st.sampled_from(["hi", "the build fails", "```", "> quoted", "password: ", "see", "ok?", '"'])
    | bodies,
    max_size=3,
)


@st.composite
def leaks(draw: st.DrawFn) -> tuple[list[Message], list[str]]:
    """Alice sends a secret, in one message or in several between its lines; others talk too."""
    text, secrets = FAMILIES[draw(families)](random.Random(draw(st.integers(0, 999))))  # noqa: S311
    lines = text.split("\n")
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(lines) - 1)), max_size=3)))
    ends = [*(cut for cut in cuts if cut < len(lines)), len(lines)]
    pieces = ["\n".join(lines[a:b]) for a, b in pairwise([0, *ends])]
    said = [(ALICE, body) for body in draw(chatter)]
    for piece in pieces:
        said.append((ALICE, piece))
        said += [(BOB, body) for body in draw(chatter)]
    said += [(ALICE, body) for body in draw(chatter)]
    talk = [
        Message(f"${n:02}", who, START + timedelta(minutes=n), "", body)
        for n, (who, body) in enumerate(said)
    ]
    return talk, secrets


@given(leaks())
@settings(max_examples=300, deadline=None)
def test_no_secret_survives_in_one_message_or_over_several_of_its_sender(
    leak: tuple[list[Message], list[str]],
) -> None:
    talk, secrets = leak
    clean, counts = scrubbed(talk, SCRUBBER)
    everything = "\n".join(message.body for message in clean)
    assert [secret for secret in secrets if secret in everything] == []
    assert counts.total() > 0
    assert [replace(m, body="") for m in clean] == [replace(m, body="") for m in talk]
    assert scrubbed(clean, SCRUBBER) == (clean, {})


@given(talks())
@example([Message("$a", ALICE, START, "", "password: [scrubbed:password]")])
@settings(max_examples=200, deadline=None)
def test_scrubbing_a_room_twice_is_scrubbing_it_once(talk: list[Message]) -> None:
    clean, _ = scrubbed(talk, SCRUBBER)
    assert scrubbed(clean, SCRUBBER) == (clean, {})
