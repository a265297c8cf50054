"""Stems and words of grammar: what is indexed, and what a question asks for (spec 6.2)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.analysis import analyse
from search.grammar import GRAMMAR
from search.terms import STEM_MARK, asked, indexed

TEXTS = st.text(
    st.sampled_from("abcdeginorst ABC_./@'-=東京é0") | st.characters(exclude_categories=["Cs"])
)


def found(question: str, text: str) -> set[str]:
    return set(asked(question).split()) & set(indexed(text).split())


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Rooms keep state", "rooms =room keep =keep state =state"),
        ("merge_room", "merge_room merge =merg room =room"),
        ("v1.39.0 東京 café ok", "v1.39.0 1.39.0 1 v1 39 0 東京 café ok"),
        ("", ""),
    ],
)
def test_each_plain_word_of_a_text_is_followed_by_its_stem(text: str, terms: str) -> None:
    assert indexed(text) == terms


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("When did the rooms merge?", "=room =merg"),
        ("merge_room_state", "merge_room_state =merg =room =state"),
        ("8cd73e7d0f1e", "8cd73e7d0f1e 8cd73e7"),
        ("東京都", "東京 京都"),
        ("who is it", "=who is it"),
        ("?!", ""),
    ],
)
def test_a_question_asks_for_stems_and_not_for_grammar(question: str, terms: str) -> None:
    assert asked(question) == terms


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("signing", "def rotateSigningKeys(): ..."),
        ("merge room state", "mergeRoomState"),
        ("mergeRoomState", "merge-room-state"),
        ("rotating a key", "rotateKeys"),
        ("operations", "an operation"),
        ("to be or not to be", "or not?"),
    ],
)
def test_w29_names_are_found_by_their_parts_and_words_in_any_form(question: str, text: str) -> None:
    assert found(question, text)


@given(TEXTS)
def test_every_text_is_found_by_itself_and_no_stem_is_taken_for_a_word(text: str) -> None:
    terms = analyse(text).split()
    assert bool(found(text, text)) == bool(terms)
    assert [term for term in indexed(text).split() if not term.startswith(STEM_MARK)] == terms


def test_the_words_of_grammar_are_terms_as_texts_give_them() -> None:
    assert {word for word in GRAMMAR if analyse(word) != word} == set()


def test_threads_give_the_same_stems() -> None:
    words = [f"{stem}{end}" for stem in ("relat", "operat", "nav") for end in ("ion", "ing", "es")]
    text = " ".join(words * 50)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(indexed, [text] * 40))) == 1
