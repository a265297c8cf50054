"""Filters as people give them: times, globs, and what contradicts itself (spec 6.3)."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.errors import UsageError
from search.moments import moment, span
from search.path_globs import DEEPEST, Like, likes
from search.scope import scope
from tasks.adapters.globs import chosen_by

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)

TIMES = [
    pytest.param("12h", datetime(2026, 3, 10, 0, tzinfo=UTC), id="hours"),
    pytest.param("3d", datetime(2026, 3, 7, 12, tzinfo=UTC), id="days"),
    pytest.param("2w", datetime(2026, 2, 24, 12, tzinfo=UTC), id="weeks"),
    pytest.param("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC), id="date"),
    pytest.param("2026-01-31T10:00:00Z", datetime(2026, 1, 31, 10, tzinfo=UTC), id="utc"),
    pytest.param("2026-01-31t10:00:00z", datetime(2026, 1, 31, 10, tzinfo=UTC), id="small"),
    pytest.param("2026-01-31 10:00:00+05:45", datetime(2026, 1, 31, 4, 15, tzinfo=UTC), id="odd"),
    pytest.param(
        "2026-01-31T10:00:00.25Z", datetime(2026, 1, 31, 10, 0, 0, 250_000, tzinfo=UTC), id="parts"
    ),
]


@pytest.mark.parametrize(("text", "expected"), TIMES)
def test_times_are_taken_in_the_documented_forms(text: str, expected: datetime) -> None:
    found = moment("since", text, now=NOW)
    assert (found, found.tzinfo) == (expected, UTC)


def test_a_date_as_the_end_takes_the_whole_day_in() -> None:
    checked = scope(since="2026-01-31", until="2026-01-31")
    assert checked.since == datetime(2026, 1, 31, tzinfo=UTC)
    assert checked.until == datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "0d", "3", "-3d", "3m", "3.5d", "2026-02-30", "2026-1-1", "20260131"),
        *(
            "2026-01-31T10:00:00",
            "2026-01-31T25:00:00Z",
            "999999w",
            "٣d",
            "0001-01-01T00:00:00+23:59",
        ),
    ],
)
def test_w26_anything_else_is_refused_above_all_a_time_without_a_zone(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        moment("until", text, now=NOW)
    assert refused.value.field == "until"


def test_spans_are_lengths_of_time() -> None:
    assert span("gap", "90d") == timedelta(days=90)
    with pytest.raises(UsageError):
        span("gap", "2026-01-31")


REFUSED: list[Any] = [
    pytest.param({"corpus": "mail"}, "corpus", id="corpus"),
    pytest.param({"since": "1d", "until": "2d"}, "since", id="backwards"),
    pytest.param({"senders": [" "]}, "sender", id="blank"),
    pytest.param({"sources": ["\udce9"]}, "sources", id="not-unicode"),
    pytest.param({"threads": ["$a"] * 51}, "thread", id="too-many"),
    pytest.param({"corpus": "chat", "repositories": ["x"]}, "repo", id="repo-in-chat"),
    pytest.param({"corpus": "forge", "rooms": ["x"]}, "room", id="room-in-forge"),
    pytest.param({"corpus": "forge", "senders": ["x"]}, "sender", id="sender-in-forge"),
    pytest.param({"corpus": "forge", "threads": ["x"]}, "thread", id="thread-in-forge"),
    pytest.param({"rooms": ["x"], "paths": ["*"]}, "room", id="path-in-room"),
    pytest.param({"senders": ["x"], "paths": ["*"]}, "path", id="path-of-sender"),
    pytest.param({"senders": ["x"], "repositories": ["x"]}, "repo", id="sender-in-repo"),
    pytest.param({"paths": ["/a"]}, "path", id="absolute"),
    pytest.param({"paths": ["x" * 1_001]}, "path", id="long-glob"),
    pytest.param({"paths": ["**/a*/**/b"]}, "path", id="two-deep-with-others"),
]


@pytest.mark.parametrize(("filters", "field"), REFUSED)
def test_what_can_find_nothing_or_is_malformed_is_refused(
    filters: dict[str, Any], field: str
) -> None:
    with pytest.raises(UsageError) as refused:
        scope(**filters)
    assert refused.value.field == field
    assert refused.value.fix.endswith(".")


def test_filters_imply_the_corpus_that_alone_can_have_them() -> None:
    assert scope(senders=["@a:b"]).corpus == "chat"
    assert scope(rooms=["!r"]).corpus == "chat"
    assert scope(paths=["*.md"]).corpus == "forge"
    assert scope(rooms=["!r"], repositories=["x"]).corpus is None
    assert scope(since="1d").corpus is None


def test_w27_the_main_timeline_is_asked_for_by_its_name() -> None:
    assert scope(threads=["main", "$a"]).threads == ("", "$a")


def test_a_glob_is_put_so_that_no_star_crosses_a_folder() -> None:
    assert likes("path", "docs/*.md") == (Like("docs/*.md", 1),)
    assert likes("path", "./a.md") == (Like("a.md", 0),)
    assert likes("path", "docs/**") == (Like("docs/*"),)
    assert likes("path", "**/tests/**") == (Like("tests/*"), Like("*/tests/*"))
    assert likes("path", "**/test_*.py")[:2] == (Like("test_*.py", 0), Like("*/test_*.py", 1))


def covered(like: Like, path: str) -> bool:
    """What the server does with a pattern."""
    pattern = re.escape(like.pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return bool(re.fullmatch(pattern, path)) and like.folders in {None, path.count("/")}


NAMES = st.text("ab.", min_size=1, max_size=3).filter(lambda name: name not in {".", ".."})
WILD = st.text("ab.*?", min_size=1, max_size=3).filter(
    lambda name: "**" not in name and name not in {".", ".."}
)
GLOBS = st.lists(st.one_of(WILD, st.just("**"), NAMES), min_size=1, max_size=4).map("/".join)
TREES = st.lists(NAMES, min_size=1, max_size=DEEPEST // 4).map("/".join)


@settings(max_examples=500, deadline=None)
@given(GLOBS, TREES)
def test_a_glob_covers_what_the_globs_of_a_repository_would(glob: str, path: str) -> None:
    try:
        patterns = likes("path", glob)
    except UsageError:
        return
    assert any(covered(like, path) for like in patterns) == chosen_by([glob], [])(path)
