"""Arguments of every look-up, refused alike before any call (spec 6.1, 6.6)."""

import uuid
from datetime import timedelta
from typing import Any

import pytest

from search.errors import UsageError
from search.more_requests import PassageAsk, ThreadAsk
from search.requests import COMMANDS, check

ID = str(uuid.UUID(int=7))

REFUSED: list[Any] = [
    pytest.param("recent", {"limit": 0}, "limit", id="recent-0"),
    pytest.param("recent", {"limit": 101}, "limit", id="recent-101"),
    pytest.param("recent", {"limit": "many"}, "limit", id="recent-no-number"),
    pytest.param("recent", {"path": ["*.md"]}, "path", id="recent-path"),
    pytest.param("recent", {"since": "soon"}, "since", id="recent-since"),
    pytest.param("thread", {}, "id", id="thread-no-id"),
    pytest.param("thread", {"id": "words"}, "id", id="thread-no-event"),
    pytest.param("thread", {"id": "$a b"}, "id", id="thread-blank"),
    pytest.param("thread", {"id": "$" + "a" * 255}, "id", id="thread-long"),
    pytest.param("thread", {"id": "$a", "gap": "long"}, "gap", id="thread-gap"),
    pytest.param("thread", {"id": "$a", "limit": 1_001}, "limit", id="thread-limit"),
    pytest.param("themes", {"count": 0}, "count", id="themes-0"),
    pytest.param("themes", {"count": 31}, "count", id="themes-31"),
    pytest.param("get", {}, "id", id="get-no-id"),
    pytest.param("get", {"id": "$event"}, "id", id="get-event"),
    pytest.param("get", {"id": ID, "neighbours": 21}, "neighbours", id="get-21"),
    pytest.param("get", {"id": ID, "neighbours": -1}, "neighbours", id="get-negative"),
    pytest.param("sources", {"since": "1d"}, "since", id="sources-since"),
    pytest.param("doctor", {"repo": ["x"]}, "repo", id="doctor-repo"),
    pytest.param("search", {"texts": ["x"], "since": 3}, "since", id="search-since-type"),
    pytest.param("search", {"texts": ["x"], "room": [3]}, "room", id="search-room-type"),
    pytest.param("search", {"texts": ["x"], "sort": "size"}, "sort", id="search-sort"),
    pytest.param(
        "search", {"texts": ["x"], "recency_half_life": "x"}, "recency_half_life", id="half-life"
    ),
]


@pytest.mark.parametrize(("command", "arguments", "field"), REFUSED)
def test_a_refusal_names_its_field_and_the_way_out(
    command: str, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(UsageError) as refused:
        check(command, arguments)
    assert refused.value.field == field
    assert refused.value.fix


@pytest.mark.parametrize("texts", [[""], ["   "], ["a", "\t", "b"], [*"abcdefg", " "]], ids=repr)
def test_w12_a_blank_text_is_refused_also_among_others(texts: list[str]) -> None:
    with pytest.raises(UsageError) as refused:
        check("search", {"texts": texts})
    assert refused.value.field.startswith("texts[")


def test_defaults_are_the_documented_ones() -> None:
    assert check("thread", {"id": "$a"}) == ThreadAsk("$a", timedelta(hours=1), 200)
    assert check("get", {"id": ID.upper()}) == PassageAsk(ID, 1)
    assert (check("recent", {}).most, check("themes", {}).most) == (20, None)


def test_every_look_up_of_the_specification_is_there() -> None:
    names = {"search", "recent", "thread", "themes", "get", "sources", "doctor"}
    assert names <= set(COMMANDS)
