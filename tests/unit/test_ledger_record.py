"""The ledger's record of a source (spec 2.1, 2.3)."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.ledger import Position, RepoCursor, SourceRecord, record_id

SHA = st.text("0123456789abcdef", min_size=40, max_size=40)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
MOMENT = st.none() | st.datetimes(timezones=st.just(UTC))
POSITION = st.builds(
    Position,
    phase=st.sampled_from(["files", "commits", "deletes"]),
    after=TEXT,
    done=st.integers(0, 10**6),
)
CURSOR = st.builds(
    RepoCursor,
    commit=st.none() | SHA,
    last_commit=st.none() | SHA,
    targets=st.lists(SHA, max_size=8).map(tuple),
    position=st.none() | POSITION,
    rules=TEXT,
    admission=TEXT,
)
RECORD = st.builds(
    SourceRecord,
    source=TEXT.map("repo:{}".format),
    state=st.sampled_from(["new", "current", "refreshing", "deleting", "failed"]),
    cursor=CURSOR,
    identity=TEXT,
    label=st.none() | TEXT,
    reason=st.none() | TEXT,
    passages=st.integers(0, 10**6),
    last_attempt=MOMENT,
    last_success=MOMENT,
)


@settings(deadline=None)
@given(RECORD)
def test_any_record_comes_back_from_json_as_it_was(record: SourceRecord) -> None:
    again = SourceRecord.from_json(record.as_json())
    assert again == record
    assert again.as_json() == record.as_json()


def with_extra_key(where: str) -> str:
    cursor = RepoCursor(targets=("a" * 40,), position=Position("files", after="b"))
    data = json.loads(SourceRecord("repo:one", cursor=cursor).as_json())
    place = {"record": data, "cursor": data["cursor"], "position": data["cursor"]["position"]}
    place[where]["from_a_newer_version"] = {"deep": [1]}
    return json.dumps(data)


@pytest.mark.parametrize("where", ["record", "cursor", "position"])
def test_keys_that_a_newer_version_wrote_are_passed_over(where: str) -> None:
    record = SourceRecord.from_json(with_extra_key(where))
    assert record.cursor.targets == ("a" * 40,)
    assert record.cursor.position == Position("files", after="b")


def test_keys_that_an_older_version_did_not_write_take_their_defaults() -> None:
    assert SourceRecord.from_json('{"source": "repo:one"}') == SourceRecord("repo:one")
    record = SourceRecord.from_json('{"source": "repo:one", "cursor": {"commit": "c"}}')
    assert record.cursor == RepoCursor(commit="c")


DAY = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 6)]


def running(*targets: str, held: str | None = "held") -> SourceRecord:
    """Targets noted on the days 2, 4 and so on."""
    since = tuple(DAY[1 + 2 * number].isoformat() for number in range(len(targets)))
    cursor = RepoCursor(held, targets=targets, since=since, position=Position("files"))
    return SourceRecord("repo:one", cursor=cursor)


def test_between_runs_every_passage_stands_at_the_held_commit() -> None:
    assert running().commit_of(DAY[0]) == "held"
    assert running().commit_of(DAY[4]) == "held"


def test_a_repository_that_was_never_held_has_no_commit() -> None:
    assert SourceRecord("repo:one").commit_of(DAY[0]) is None


def test_in_the_middle_of_a_run_what_it_stored_stands_at_its_target_the_rest_at_the_held_one() -> (
    None
):
    record = running("target")
    assert [record.commit_of(day) for day in DAY[:3]] == ["held", "target", "target"]


def test_what_an_earlier_unfinished_run_wrote_is_cited_at_that_runs_target() -> None:
    record = running("older", "newest")
    assert [record.commit_of(day) for day in DAY] == ["held", *["older"] * 2, *["newest"] * 2]


def test_a_cursor_that_was_set_aside_still_cites_the_last_commit() -> None:
    record = running("target", held=None)
    aside = replace(record, cursor=replace(record.cursor, last_commit="last"))
    assert [aside.commit_of(day) for day in DAY[:2]] == ["last", "target"]


def test_a_failure_keeps_the_cursor_and_the_last_success() -> None:
    success = datetime(2026, 1, 1, tzinfo=UTC)
    before = SourceRecord("repo:one", "current", RepoCursor("c"), last_success=success)
    after = before.failed("gone. Look for it.")
    assert (after.state, after.reason) == ("failed", "gone. Look for it.")
    assert (after.cursor, after.last_success) == (before.cursor, success)
    assert after.last_attempt is not None


def test_a_failure_among_deletes_is_still_known_as_such() -> None:
    deleting = replace(running(), state="deleting")
    assert deleting.failed("no answer. Try again.").state == "deleting"


def test_records_are_keyed_by_kind_collection_and_source() -> None:
    keys = [("source", "C1", "repo:a"), ("source", "C2", "repo:a"), ("source", "C1", "repo:b")]
    keys += [("meta", "C1", ""), ("meta", "C1", "repo:a")]
    assert len({record_id(*key) for key in keys}) == len(keys)
