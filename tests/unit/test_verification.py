"""What verify compares, and what it calls each difference (spec 7.2)."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from search.collection import PARTS_VECTOR, PROPERTIES, WINDOW_VECTOR, properties_of
from search.passage import Lines, Passage
from tasks.domain.verification import (
    MOST_NAMED,
    Finding,
    Kind,
    Print,
    as_written,
    difference,
    differences,
    is_miscounted,
    is_whole,
    merged,
    print_of,
)
from tests.support.chats import turn, window
from tests.support.fakes import file_passage

MILLISECONDS = datetime(2026, 3, 1, 9, 0, 0, 123_000, tzinfo=UTC)
COMMIT = replace(
    file_passage("message", ""),
    kind="commit",
    commit="c" * 40,
    blob="",
    lines=None,
    authors=("Ada",),
    start=MILLISECONDS,
    end=MILLISECONDS,
)
CUT = replace(
    file_passage("a line"), lines=Lines(first=3, last=3, columns=(0, 9)), trail=("A", "B")
)
CHAT = window([turn("a", 0), turn("b", 1, "bob", edit="$e")], thread="$root")
PASSAGES = {"file": file_passage("text"), "cut": CUT, "commit": COMMIT, "window": CHAT}


def stored(passage: Passage, **changes: Any) -> dict[str, Any]:
    """As the store gives it: dates as such, and nothing where nothing is."""
    found: dict[str, Any] = {declared.name: None for declared in PROPERTIES}
    for name, value in properties_of(passage).items():
        is_date = name in ("start", "end")
        found[name] = datetime.fromisoformat(value) if is_date else value or None
    return {**found, "part": passage.part, "ingested_at": MILLISECONDS, **changes}


def printed(properties: dict[str, Any], **changes: Any) -> Print:
    claimed = str(properties.get("fingerprint") or "")
    return replace(print_of("id", as_written(properties), claimed=claimed), **changes)


@pytest.mark.parametrize("name", PASSAGES)
def test_what_is_stored_just_as_written_differs_in_nothing(name: str) -> None:
    passage = PASSAGES[name]
    written = properties_of(passage)
    expected = print_of("id", written, claimed=written["fingerprint"])
    assert expected.fingerprint == expected.claimed
    assert difference(expected, printed(stored(passage))) is None


CHANGED: dict[str, tuple[Any, Kind]] = {
    "corpus": ("other", "citation"),
    "source": ("repo:other", "citation"),
    "kind": ("other", "citation"),
    "part": (7, "citation"),
    "slot": (7, "form"),
    "text": ("other", "text"),
    "trail": (["other"], "text"),
    "keywords": ("other", "text"),
    "authors": (["other"], "citation"),
    "start": (datetime(2026, 3, 1, 9, 0, 0, 124_000, tzinfo=UTC), "citation"),
    "end": (datetime(2026, 3, 1, 9, 0, 0, 124_000, tzinfo=UTC), "citation"),
    "path": ("other", "citation"),
    "blob": ("other", "citation"),
    "first_line": (99, "citation"),
    "last_line": (99, "citation"),
    "columns": ([1, 2], "citation"),
    "commit": ("other", "citation"),
    "thread": ("other", "citation"),
    "segment": ("other", "form"),
    "events": (["other"], "citation"),
    "edits": (["other"], "citation"),
    "turns": ('["other"]', "text"),
    "rules": ("other", "form"),
    "digest": ("other", "text"),
    "fingerprint": ("other", "form"),
}


def test_every_stored_property_but_the_time_of_ingestion_is_compared() -> None:
    assert CHANGED.keys() == {declared.name for declared in PROPERTIES} - {"ingested_at"}


@pytest.mark.parametrize("name", PASSAGES)
@pytest.mark.parametrize("changed", CHANGED)
def test_a_property_that_was_changed_is_called_by_what_it_says(name: str, changed: str) -> None:
    passage = PASSAGES[name]
    value, kind = CHANGED[changed]
    expected = printed(stored(passage))
    assert difference(expected, printed(stored(passage, **{changed: value}))) == kind


def test_when_it_was_ingested_does_not_matter() -> None:
    passage = PASSAGES["file"]
    later = datetime(2027, 1, 1, tzinfo=UTC)
    assert difference(printed(stored(passage)), printed(stored(passage, ingested_at=later))) is None


def test_a_passage_without_all_of_its_vectors_differs() -> None:
    expected = printed(stored(PASSAGES["file"]))
    assert difference(expected, replace(expected, whole=False)) == "vectors"


ONE, TWO = [1.0, 0.0], [0.0, 1.0]
VECTORS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "a file's two": ("file", {WINDOW_VECTOR: ONE, PARTS_VECTOR: [ONE]}, True),
    "a part for each turn": ("window", {WINDOW_VECTOR: ONE, PARTS_VECTOR: [ONE, TWO]}, True),
    "none": ("file", {}, False),
    "no window": ("file", {PARTS_VECTOR: [ONE]}, False),
    "no parts": ("file", {WINDOW_VECTOR: ONE}, False),
    "a turn without its part": ("window", {WINDOW_VECTOR: ONE, PARTS_VECTOR: [ONE]}, False),
    "a part too many": ("file", {WINDOW_VECTOR: ONE, PARTS_VECTOR: [ONE, TWO]}, False),
    "another length": ("file", {WINDOW_VECTOR: [1.0], PARTS_VECTOR: [ONE]}, False),
    "a part's other length": ("file", {WINDOW_VECTOR: ONE, PARTS_VECTOR: [[1.0]]}, False),
    "nothing but zeros": ("file", {WINDOW_VECTOR: [0.0, 0.0], PARTS_VECTOR: [ONE]}, False),
}


@pytest.mark.parametrize("case", VECTORS)
def test_every_vector_must_be_there(case: str) -> None:
    name, vectors, whole = VECTORS[case]
    assert is_whole(stored(PASSAGES[name]), vectors, 2) is whole


def prints(*ids: str, **changes: Any) -> list[Print]:
    return [replace(Print(each, "f", "f", "t", "c"), **changes) for each in ids]


@pytest.mark.parametrize(
    ("expected", "held", "found"),
    [
        ("", "", {}),
        ("abc", "abc", {}),
        ("abc", "", dict.fromkeys("abc", "missing")),
        ("", "abc", dict.fromkeys("abc", "extra")),
        ("ace", "bdf", dict.fromkeys("ace", "missing") | dict.fromkeys("bdf", "extra")),
        ("abc", "bcd", {"a": "missing", "d": "extra"}),
        ("ad", "abcd", {"b": "extra", "c": "extra"}),
    ],
)
def test_two_lists_in_order_are_gone_through_at_once(
    expected: str, held: str, found: dict[str, Kind]
) -> None:
    assert dict(differences(prints(*expected), prints(*held))) == found


def test_one_that_differs_hides_no_other() -> None:
    held = [*prints("a", text="other"), *prints("b"), *prints("c", citation="other")]
    assert dict(differences(prints(*"abcd"), held)) == {
        "a": "text",
        "c": "citation",
        "d": "missing",
    }


def test_a_survey_adds_to_what_was_found_of_a_source() -> None:
    hidden = Finding("repo:one", "different", 3, {"hidden": 2}, ("x", "y"))
    same = Finding("repo:one", "same", 3)
    assert merged(same, None) == same
    assert merged(same, hidden) == replace(hidden, passages=3)
    differs = Finding("repo:one", "different", 3, {"text": 1}, tuple("abcdefghij"))
    both = merged(differs, hidden)
    assert both.differences == {"text": 1, "hidden": 2}
    assert len(both.ids) == MOST_NAMED
    unread = Finding("repo:one", "unverified", reason="it is down")
    assert merged(unread, hidden).result == "unverified"
    assert merged(unread, hidden).differences == {"hidden": 2}
    leaving = Finding("repo:one", "leaving", reason="it is no longer listed")
    assert merged(leaving, hidden) == leaving


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ("same", False),
        ("mended", False),
        ("leaving", False),
        ("different", True),
        ("unverified", True),
    ],
)
def test_what_differs_or_was_not_compared_is_to_be_looked_at(result: Any, failed: bool) -> None:  # noqa: FBT001
    assert Finding("repo:one", result).failed is failed


@pytest.mark.parametrize(
    ("told", "there", "indexed", "wrong"),
    [
        (43, 43, 43, False),
        (48, 43, 48, False),
        (45, 43, 48, False),
        (42, 43, 48, True),
        (49, 43, 48, True),
        (44, 43, 43, True),
    ],
)
def test_a_number_between_what_is_there_and_what_the_index_counts_is_right(
    told: int,
    there: int,
    indexed: int,
    wrong: bool,  # noqa: FBT001  # a column of the table
) -> None:
    assert is_miscounted(told, there, indexed) == wrong
