"""Passage ids and digests (spec 2.4, 5.4)."""

from dataclasses import replace
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from search.passage import digest_of, passage_id, slot_of
from tests.support.fakes import file_passage

KEY = st.lists(st.text() | st.integers(0, 10_000), min_size=1, max_size=5)


def test_an_id_is_the_uuid5_that_stored_passages_have() -> None:
    """A changed value here is a changed id of everything stored: it needs a new schema version."""
    assert passage_id("file", "one", "a.md", 0) == "2c4a34f6-08bf-5fbd-961d-70608b114e24"
    assert UUID(passage_id("file", "one", "a.md", 0)).version == 5


@settings(deadline=None)
@given(KEY, KEY)
def test_ids_are_equal_exactly_when_their_keys_are(
    one: list[str | int], other: list[str | int]
) -> None:
    assert (passage_id(*one) == passage_id(*other)) == (one == other)


def test_parts_of_a_key_cannot_run_together() -> None:
    keys = [("file", "a", "b/c", 1), ("file", "a/b", "c", 1), ("file", "a", "b", "c", 1)]
    keys += [("file", 'a","b', "c", 1), ("file", "a", "b/c", "1")]
    assert len({passage_id(*key) for key in keys}) == len(keys)


def test_a_key_outside_ascii_or_not_even_unicode_has_an_id() -> None:
    assert passage_id("file", "one", "žluťoučký.txt", 0) != passage_id("file", "one", "x", 0)
    assert passage_id("file", "one", "caf\udce9.css", 0)


def test_the_text_takes_no_part_in_the_id() -> None:
    assert file_passage("one text").id == file_passage("another").id


def test_slots_are_the_first_32_bits_of_the_id() -> None:
    assert slot_of("ffffffff-0000-5000-8000-000000000000") == 2**32 - 1
    assert slot_of("00000001-ffff-5fff-8fff-ffffffffffff") == 1


def test_the_digest_is_of_what_is_embedded_and_nothing_else() -> None:
    passage = file_passage("text")
    assert replace(passage, path="other", keywords="other", text="other").digest == passage.digest
    assert replace(passage, window="other").digest != passage.digest
    assert replace(passage, parts=("text", "more")).digest != passage.digest
    assert passage.digest == digest_of("text", "text")


def test_texts_cannot_run_together_in_a_digest() -> None:
    assert digest_of("ab", "c") != digest_of("a", "bc") != digest_of("abc")
