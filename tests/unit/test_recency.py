"""Newer before older, for those who ask (spec 6.6)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.recency import weighted

NOW = datetime(2026, 3, 1, tzinfo=UTC)
MONTH = timedelta(days=30)


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


def test_a_score_counts_half_at_the_half_life_and_a_quarter_at_twice_that() -> None:
    ends = {"new": NOW, "old": ago(days=30), "older": ago(days=60)}
    fused = [("new", 1.0), ("old", 1.0), ("older", 1.0)]
    assert weighted(fused, ends, MONTH, NOW) == [("new", 1.0), ("old", 0.5), ("older", 0.25)]


def test_what_is_newer_overtakes_what_scored_a_little_more() -> None:
    ends = {"old": ago(days=30), "new": NOW}
    assert [i for i, _ in weighted([("old", 1.5), ("new", 1.0)], ends, MONTH, NOW)] == [
        "new",
        "old",
    ]
    assert [i for i, _ in weighted([("old", 2.5), ("new", 1.0)], ends, MONTH, NOW)] == [
        "old",
        "new",
    ]


def test_the_future_counts_as_now() -> None:
    ends = {"ahead": NOW + timedelta(days=3_000), "now": NOW}
    assert weighted([("ahead", 1.0), ("now", 1.0)], ends, MONTH, NOW) == [("ahead", 1), ("now", 1)]


def test_what_has_no_time_counts_as_the_oldest_that_has_one() -> None:
    ends = {"file": None, "old": ago(days=60), "new": NOW}
    scores = dict(weighted([("file", 1.0), ("old", 1.0), ("new", 1.0)], ends, MONTH, NOW))
    assert scores == {"new": 1.0, "file": 0.25, "old": 0.25}
    assert weighted([("file", 1.0)], {"file": None}, MONTH, NOW) == [("file", 1.0)]


def test_ages_without_weight_left_still_have_their_order() -> None:
    ends = {"z": ago(days=9_000), "a": ago(days=9_001)}
    found = weighted([("a", 1.0), ("z", 1.0)], ends, timedelta(hours=1), NOW)
    assert found == [("z", 0.0), ("a", 0.0)]


@given(st.lists(st.tuples(st.integers(0, 500), st.floats(0.001, 1)), min_size=1, max_size=8))
def test_without_a_difference_in_age_nothing_changes_places(items: list[tuple[int, float]]) -> None:
    fused = sorted(
        {str(n): score for n, score in items}.items(), key=lambda item: (-item[1], item[0])
    )
    ends = dict.fromkeys((name for name, _ in fused), ago(days=3))
    assert [n for n, _ in weighted(fused, ends, MONTH, NOW)] == [n for n, _ in fused]


def test_ties_go_by_id() -> None:
    ends = {"b": NOW, "a": NOW}
    assert weighted([("b", 1.0), ("a", 1.0)], ends, MONTH, NOW) == [("a", 1.0), ("b", 1.0)]
    assert pytest.approx(0.5) == dict(weighted([("a", 1.0)], {"a": ago(days=30)}, MONTH, NOW))["a"]
