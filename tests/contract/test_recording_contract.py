"""The recording store meets the suites of the ports that it stands in for (spec 7.2).

Left out are those about vectors, of which it has none.
"""

from collections.abc import Iterator

import pytest

from tasks.adapters.recording import Recording
from tasks.dry_ledger import DryLedger
from tasks.ports import Ledger, PassageWriter
from tests.contract.test_passage_writer_contract import (  # noqa: F401  # collected here
    test_a_record_comes_back_as_it_was_put,
    test_an_unknown_source_has_a_new_record,
    test_deleted_passages_are_gone_and_unknown_ids_count_as_gone,
    test_records_of_sources_do_not_overwrite_one_another,
    test_stored_can_be_asked_by_paths_and_by_commits,
    test_w03_passages_from_a_generator_are_all_stored,
    test_w08_sources_whose_names_share_words_are_kept_apart,
    test_w18_equal_texts_in_two_places_are_two_passages,
    test_w21_writing_twice_holds_once_in_the_newer_form,
    test_what_is_expunged_is_gone_whether_it_was_there_or_not,
    test_what_was_written_is_acknowledged_and_listed_with_its_fingerprint,
)
from tests.contract.test_window_index_contract import (  # noqa: F401  # collected here
    SOURCE,
    Place,
    minute,
    segment,
    test_a_segment_is_found_by_its_name_in_its_own_thread,
    test_a_window_is_found_with_all_that_is_stored_of_it,
    test_all_windows_are_listed_however_many,
    test_an_answer_longer_than_the_server_gives_is_whole,
    test_another_room_with_the_same_events_is_never_found,
    test_before_the_first_and_after_the_last_there_is_one_neighbour,
    test_between_takes_both_ends_and_whatever_reaches_in,
    test_hundreds_of_events_are_asked_for_at_once,
    test_neighbours_are_of_the_thread_asked_for,
    test_neighbours_are_whole_segments_on_either_side,
    test_segments_that_start_in_the_same_millisecond_are_all_neighbours,
    test_windows_are_found_by_any_of_their_events_and_by_the_edits_in_force,
)
from tests.support.events import BOB, message


@pytest.fixture
def store() -> Iterator[tuple[PassageWriter, Ledger]]:
    recording = Recording()
    yield recording, DryLedger()
    recording.close()


@pytest.fixture
def place() -> Iterator[Place]:
    recording = Recording()
    yield Place(recording, recording)
    recording.close()


def test_a_window_that_began_long_before_a_span_reaches_into_it() -> None:
    recording = Recording()
    place = Place(recording, recording)
    (held,) = place.hold(*segment(message("$a", "one"), message("$b", "two", BOB, 10)))
    place.hold(*segment(message("$c", "six", minutes=400)))
    found = recording.between(SOURCE, "", minute(9), minute(20))
    assert [each.id for each in found] == [held]
    recording.close()
