"""What a term is, the same for what is stored and for what is asked (spec 6.2)."""

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from search.analysis import LONGEST_TERM, analyse

SHA = "8cd73e7d0f1e2a3b4c5d6e7f8091a2b3c4d5e6f7"
EVENT = "$Kx-p9_QrT0aBcDeFgHiJkLmNoPqRsTuVwXyZ012345"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
HOSTILE = st.text(
    st.sampled_from("aAbB09_-./:@'$!é東กあ👍\u0301\u0345\u200d\ufe0f\u00ad ʼnŉ’ǅßİᏠꭰ①")
)


def terms(text: str) -> set[str]:
    return set(analyse(text).split())


@pytest.mark.parametrize(
    ("text", "analysed"),
    [
        ("Rooms keep state", "rooms keep state"),
        ("rotateSigningKeys", "rotatesigningkeys rotate signing keys"),
        ("merge_room_state", "merge_room_state merge room state"),
        ("HTTPServer2", "httpserver2 http server2"),
        ("MAX_SIZE", "max_size max size"),
        ("__init__", "init"),
        ("sha256", "sha256"),
        ("utf8Bytes", "utf8bytes utf8 bytes"),
        ("read-only", "read-only read only"),
        ("tasks.domain.files", "tasks.domain.files tasks domain files"),
        ("docs/setup.md", "docs/setup.md docs setup.md setup md"),
        (
            "tasks/domain/fileRules.py",
            "tasks/domain/filerules.py tasks domain filerules.py filerules file rules py",
        ),
        ("std::vec::Vec", "std::vec::vec std vec vec"),
        ("@ann:example.org", "ann:example.org ann example.org example org"),
        ("ann@example.org", "ann@example.org ann example.org example org"),
        (
            "https://example.org/a?b=c#d",
            "https example.org/a example.org example org a b c d",
        ),
        ("1.39.0", "1.39.0 1 39 0"),
        ("v1.39.0", "v1.39.0 1.39.0 1 v1 39 0"),
        ("don't", "dont don"),
        ("Ann’s l'eau", "anns ann leau eau"),
        (SHA, f"{SHA} {SHA[:7]}"),
        ("12345678 defaced", "12345678 defaced"),
        ("東京都", "東京 京都"),
        ("京", "京"),
        ("ภาษา", "ภา าษ ษา"),
        ("서버를", "서버 버를"),
        ("ﾄｳｷｮｳ", "トウ ウキ キョ ョウ"),
        ("merge＿room", "merge_room merge room"),
        ("東京tokyo", "東京 tokyo"),
        ("हिन्दी में", "हिन्दी में"),
        ("Straße ＡＢＣ cafe\u0301", "strasse abc café"),
        ("soft\u00adhyphen zero\u200bwidth", "softhyphen zero width"),
        ("done 👍🏽 ❤️ 1️⃣", "done 1"),
        ("wait...what", "wait what"),
        ("--flag=value", "flag value"),
        ("", ""),
        (" \n\t ?! ", ""),
    ],
)
def test_each_kind_of_word_gives_its_whole_and_its_parts(text: str, analysed: str) -> None:
    assert analyse(text) == analysed


CODE = "async def rotateSigningKeys(): return merge_room_state(old)"


@pytest.mark.parametrize(
    "query",
    ["signing", "merge_room_state", "merge room state", "mergeRoomState", "MERGE_ROOM_STATE"],
)
def test_identifiers_are_found_by_their_whole_and_by_their_parts(query: str) -> None:
    assert terms(query) & terms(CODE)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("merge room state", "mergeRoomState"),
        ("merge_room_state", "mergeRoomState"),
        ("mergeRoomState", "merge_room_state"),
        ("mergeRoomState", "merge-room-state"),
    ],
)
def test_every_style_of_a_name_shares_all_its_parts_with_every_other(query: str, text: str) -> None:
    assert {"merge", "room", "state"} <= terms(query) & terms(text)


@pytest.mark.parametrize(
    ("term", "query", "text"),
    [
        (SHA, SHA, f"fixed in {SHA}."),
        (SHA[:7], SHA[:7], f"fixed in {SHA}."),
        (SHA[:7], SHA[:12], f"fixed in {SHA}."),
        (EVENT[1:].lower(), EVENT, f"see {EVENT}, please"),
        (EVENT[1:].lower(), EVENT[1:], f"see {EVENT}, please"),
        ("ann:example.org", "@ann:example.org", "ask @ann:example.org"),
        ("1.39.0", "1.39.0", "needs v1.39.0"),
        ("1.39.0", "v1.39.0", "needs 1.39.0"),
        ("example.org/a/b", "https://example.org/a/b", "(https://example.org/a/b)"),
        ("example.org/a/b", "example.org/a/b", "<https://example.org/a/b>"),
        ("files.py", "files.py", "see tasks/domain/files.py:12"),
        ("東京", "東京", "昨日は東京都に行った"),
    ],
)
def test_ids_versions_and_addresses_are_found_whole(term: str, query: str, text: str) -> None:
    assert term in terms(query) & terms(text)


def test_a_random_id_does_not_fall_into_pieces_at_its_capitals() -> None:
    assert not {"qr", "bc", "de"} & terms(EVENT)


def test_a_plain_word_counts_once_and_a_repeated_one_as_often_as_it_stands() -> None:
    assert analyse("keys keys rotateKeys") == "keys keys rotatekeys rotate keys"


def test_no_term_is_longer_than_the_longest() -> None:
    words = ["a" * 300, "aB" * 300, "a_" * 300, "a/" * 300, "東" * 300, "é" * 300, "ab'" * 300]
    assert max(map(len, terms(" ".join(words)))) == LONGEST_TERM


def test_an_overlong_word_still_finds_itself() -> None:
    word = "x9" * 300
    assert terms(word) & terms(f"the word {word} here")


@given(TEXTS | HOSTILE)
@example("ŉ")
@example("aꭰ")
@example("ᾲ\u0345")
@example("v1.39.0rc1'x")
@example("0/İŉ")
def test_analysing_terms_again_gives_the_same_terms(text: str) -> None:
    assert terms(analyse(text)) == terms(text)


@given(st.lists(TEXTS | HOSTILE, max_size=6), st.data())
def test_every_word_of_a_text_shares_a_term_with_it(words: list[str], data: st.DataObject) -> None:
    text = "\n".join(words)
    for word in words:
        if terms(word):
            assert terms(word) <= terms(text)


@given(TEXTS | HOSTILE)
def test_terms_stand_between_single_spaces_and_hold_none(text: str) -> None:
    analysed = analyse(text)
    assert analysed.split() == [term for term in analysed.split(" ") if term]
    assert analysed == " ".join(analysed.split())


@given(TEXTS | HOSTILE)
def test_case_and_normal_form_make_no_difference_to_plain_words(text: str) -> None:
    plain = " ".join(word for word in text.split() if word.islower() and word.isalpha())
    assert analyse(unicodedata.normalize("NFD", plain)) == analyse(plain)


def test_every_character_there_is_can_stand_in_a_word() -> None:
    points = (chr(point) for point in range(0, sys.maxunicode, 7) if not 0xD800 <= point < 0xE000)
    text = " ".join(f"a{character}b" for character in points)
    once = analyse(text)
    assert set(analyse(once).split(" ")) == set(once.split(" "))


@pytest.mark.parametrize(
    "piece",
    ["a.", "A", "aA", "'", "a'", "_", "a_", "a::", "東", "v1.", "$a", ".", "e\u0301\u0316", "ก"],
)
@pytest.mark.timeout(60)
def test_hostile_text_gives_terms_in_proportion_to_its_length(piece: str) -> None:
    text = piece * 200_000
    assert len(analyse(text)) <= 4 * len(text)


@pytest.mark.timeout(60)
def test_piled_up_marks_in_the_wrong_order_are_not_sorted_at_length() -> None:
    assert analyse("e" + "\u0301" * 50_000 + "\u0316" * 50_000) == "é" + "\u0301" * 7
