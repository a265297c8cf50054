"""When a new collection may take the old one's place (spec 2.5)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from search.ledger import SourceRecord, State
from search.settings import Settings
from tasks.aim import LIVE, Aim, aim, aimed
from tasks.domain.rebuilds import Rebuild, lacking

HELD = SourceRecord("repo:a", "current", passages=3, last_success=datetime(2026, 1, 2, tzinfo=UTC))


@pytest.mark.parametrize("state", ["new", "refreshing", "deleting", "failed"])
def test_a_source_that_is_not_whole_in_the_new_collection_is_lacking(state: State) -> None:
    assert lacking({"repo:a": HELD}, {"repo:a": replace(HELD, state=state)}) == ["repo:a"]


def test_a_source_that_the_new_collection_never_heard_of_is_lacking() -> None:
    assert lacking({"repo:a": HELD, "repo:b": HELD}, {"repo:a": HELD}) == ["repo:b"]


def test_what_failed_in_the_old_one_but_is_held_there_is_lacking_too() -> None:
    assert lacking({"repo:a": replace(HELD, state="failed")}, {}) == ["repo:a"]


def test_a_source_that_was_emptied_is_still_one() -> None:
    assert lacking({"repo:a": replace(HELD, passages=0)}, {}) == ["repo:a"]


def test_a_source_of_which_nothing_was_ever_held_holds_nothing_up() -> None:
    assert lacking({"repo:a": SourceRecord("repo:a", "failed")}, {}) == []


def test_a_rebuild_is_read_as_it_was_written() -> None:
    rebuild = Rebuild("Huginn_1", "Huginn_0", "another model", "2026-01-02", wanted=True)
    assert Rebuild.from_json(rebuild.as_json()) == rebuild


def test_an_aim_holds_for_its_block_and_changes_the_model_only_if_it_names_one() -> None:
    settings = Settings()
    with aimed(Aim("Huginn_1", "a-model")):
        assert aim().applied(settings).embedder.model == "a-model"
        assert aim() == Aim("Huginn_1", "a-model")
    assert aim() == LIVE
    assert LIVE.applied(settings) is settings
