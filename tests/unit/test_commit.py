"""The only code that moves a cursor, and only on an acknowledgement (spec 1.2, 2.3)."""

from dataclasses import replace

import pytest

from search.errors import TransientError
from search.ledger import Position, RepoCursor, SourceRecord
from tasks.commit import commit, mark_failed
from tasks.context import Store
from tasks.domain.acknowledgement import Acknowledgement, Confirmation
from tasks.domain.cursors import restarted
from tasks.errors import CursorMoved, WritesNotAcknowledged
from tests.support.fakes import (
    FakeLedger,
    FakePassageWriter,
    current,
    file_passage,
    vectors_for,
)

AT_FILES = RepoCursor("old", targets=("new",), position=Position("files", after="a.md"))
AT_DELETES = replace(AT_FILES, position=Position("deletes"))
ARRIVED = RepoCursor("new")


@pytest.fixture
def ledger() -> FakeLedger:
    made = FakeLedger()
    made.put(replace(current("repo:one"), state="refreshing", cursor=AT_FILES))
    return made


@pytest.fixture
def store(ledger: FakeLedger) -> Store:
    writer = FakePassageWriter()
    for number in range(3):
        passage = file_passage(f"text {number}", f"{number}.md")
        writer.write([(passage, vectors_for(passage.window))])
    writer.write([(file_passage("text", repo="two"), vectors_for("text"))])
    return Store(writer, ledger)


def record(store: Store) -> SourceRecord:
    return store.ledger.record("repo:one")


def step(before: RepoCursor, after: RepoCursor) -> Acknowledgement:
    return Acknowledgement("repo:one", before, after, Confirmation.of("ab", "ab"))


def test_the_cursor_moves_to_what_was_acknowledged(store: Store) -> None:
    before = record(store)
    commit(store, step(AT_FILES, AT_DELETES))
    after = record(store)
    assert after == replace(before, cursor=AT_DELETES, last_attempt=after.last_attempt)


def test_the_last_step_makes_the_source_current_and_counts_its_passages(store: Store) -> None:
    store.ledger.put(replace(record(store), reason="it had failed. Look.", last_success=None))
    commit(store, step(AT_FILES, ARRIVED))
    done = record(store)
    assert (done.cursor, done.state, done.reason, done.passages) == (ARRIVED, "current", None, 3)
    assert done.last_success is not None


def test_a_step_on_the_way_does_not_make_the_source_fresh(store: Store) -> None:
    before = record(store)
    commit(store, step(AT_FILES, AT_DELETES))
    after = record(store)
    assert (after.state, after.last_success) == ("refreshing", before.last_success)


def test_saying_it_twice_changes_nothing(store: Store) -> None:
    commit(store, step(AT_FILES, ARRIVED))
    once = record(store)
    commit(store, step(AT_FILES, ARRIVED))
    assert record(store) == once


def test_a_step_that_comes_after_another_run_moved_the_cursor_sets_it_aside(store: Store) -> None:
    """What the step wrote is in the store: the next run has to list it, not trust the cursor."""
    elsewhere = replace(AT_FILES, position=Position("files", after="z.md"))
    store.ledger.put(replace(record(store), cursor=elsewhere))
    before = record(store)
    with pytest.raises(CursorMoved):
        commit(store, step(AT_FILES, AT_DELETES))
    assert record(store) == replace(before, cursor=restarted(elsewhere))
    assert issubclass(CursorMoved, TransientError)


def test_without_an_acknowledgement_there_is_nothing_to_commit(store: Store) -> None:
    before = record(store)
    with pytest.raises(WritesNotAcknowledged):
        commit(store, Acknowledgement("repo:one", AT_FILES, ARRIVED, Confirmation.of("ab", "a")))
    assert record(store) == before


def test_a_failure_is_noted_and_the_cursor_stays(store: Store) -> None:
    mark_failed(store, "repo:one", "no answer. Try again.")
    failed = record(store)
    assert (failed.state, failed.reason) == ("failed", "no answer. Try again.")
    assert failed.cursor == AT_FILES


def test_a_failure_of_a_source_that_was_never_seen_is_noted_too(store: Store) -> None:
    mark_failed(store, "repo:three", "gone. Look for it.")
    assert store.ledger.record("repo:three").state == "failed"
    assert store.ledger.record("repo:three").cursor == RepoCursor()


def test_records_of_other_sources_are_left_alone(store: Store) -> None:
    store.ledger.put(current("repo:two"))
    before = store.ledger.record("repo:two")
    commit(store, step(AT_FILES, ARRIVED))
    mark_failed(store, "repo:one", "gone. Look.")
    assert store.ledger.record("repo:two") == before
