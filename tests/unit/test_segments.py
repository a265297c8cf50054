"""Where segments start (spec 4.3)."""

from datetime import timedelta
from itertools import permutations

import pytest

from tasks.domain.messages import Message
from tasks.domain.segments import GAP, is_boundary, segments, starts_segment
from tests.support.events import message

PLAIN = [f"$m{n}" for n in range(200) if not is_boundary(f"$m{n}")]
BOUNDARY = next(f"$m{n}" for n in range(200) if is_boundary(f"$m{n}"))


def ids(found: list[list[Message]]) -> list[list[str]]:
    return [[message.event for message in segment] for segment in found]


def test_a_gap_over_the_limit_starts_a_segment_and_one_at_the_limit_does_not() -> None:
    a, b, c = PLAIN[:3]
    at_limit = message(b, minutes=60)
    over = message(c, minutes=120.0001)
    assert ids(segments([message(a), at_limit, over])) == [[a, b], [c]]


def test_the_hash_of_its_id_starts_a_segment_without_any_gap() -> None:
    a, b = PLAIN[:2]
    found = segments([message(a), message(BOUNDARY, minutes=1), message(b, minutes=2)])
    assert ids(found) == [[a], [BOUNDARY, b]]


def test_about_one_message_in_n_starts_a_segment() -> None:
    starts = sum(is_boundary(f"$event-{n}", 32) for n in range(32_000))
    assert 900 < starts < 1_100


def test_boundaries_are_the_same_for_everybody_and_always() -> None:
    assert [n for n in range(200) if is_boundary(f"$m{n}")] == [3, 9, 22, 48, 88, 163]


def test_m07_segments_do_not_depend_on_the_order_of_reading() -> None:
    given = [message(PLAIN[0], minutes=5), message(PLAIN[1]), message(PLAIN[2], minutes=200)]
    for order in permutations(given):
        assert ids(segments(order)) == [[PLAIN[1], PLAIN[0]], [PLAIN[2]]]


def test_messages_of_the_same_moment_are_in_the_order_of_their_ids() -> None:
    assert ids(segments([message("$b"), message("$a")], modulus=10**30)) == [["$a", "$b"]]


def test_the_first_message_starts_a_segment() -> None:
    assert segments([]) == []
    assert starts_segment(message(PLAIN[0]), None)


@pytest.mark.parametrize("minutes", [-1, 1])
def test_the_gap_can_be_set(minutes: int) -> None:
    a, b = PLAIN[:2]
    gap = GAP + timedelta(minutes=minutes)
    assert len(segments([message(a), message(b, minutes=60)], gap=gap)) == (2 if minutes < 0 else 1)
