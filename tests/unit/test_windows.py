"""Windows of a segment and their passages (spec 4.3, 4.4)."""

import itertools
from dataclasses import replace

import pytest

from search.analysis import analyse
from search.passage import Turn, passage_id
from search.terms import indexed
from tasks.domain import windows as module
from tasks.domain.messages import Message
from tasks.domain.windows import NOTHING, chat_passages, embedded_form, says_nothing, windows
from tests.support.events import ALICE, BOB, ROOM, START, message

MARKER = "[scrubbed:password]"


def words(text: str) -> int:
    """A counter of tokens: words and two special ones."""
    return len(text.split()) + 2


def packed(
    *messages: Message, token_limit: int = 256, max_bytes: int = 1_000
) -> list[tuple[Turn, ...]]:
    return windows(messages, count_tokens=words, token_limit=token_limit, max_bytes=max_bytes)


def bodies(found: list[tuple[Turn, ...]]) -> list[list[str]]:
    return [[turn.body for turn in turns] for turns in found]


def test_messages_are_packed_up_to_the_limit_of_bytes() -> None:
    found = packed(*(message(f"${n}", letter * 400) for n, letter in enumerate("abcd")))
    assert [[body[0] for body in window] for window in bodies(found)] == [["a", "b"], ["c", "d"]]


def test_bytes_of_bodies_count_and_not_characters_or_names() -> None:
    fits = packed(message("$a", "é" * 250), message("$b", "é" * 250))
    over = packed(message("$a", "é" * 250), message("$b", "é" * 250 + "x"))
    assert [len(fits), len(over)] == [1, 2]


def test_the_token_limit_is_of_what_is_embedded_names_and_special_tokens_included() -> None:
    two = [message("$a", "one two"), message("$b", "three")]
    assert words("alice: one two\nalice: three") == 7
    assert [len(packed(*two, token_limit=7)), len(packed(*two, token_limit=6))] == [1, 2]


def test_what_is_appended_changes_the_last_window_alone() -> None:
    messages = [message(f"${n}", "word " * 60, minutes=n) for n in range(9)]
    before, after = packed(*messages[:-1]), packed(*messages)
    assert len(before) > 2
    assert after[: len(before) - 1] == before[:-1]


SENTENCES = [f"This is sentence number {n} of a long story." for n in range(100)]


def test_e01_a_long_message_is_cut_at_sentences_and_nothing_is_lost() -> None:
    story = " ".join(SENTENCES)
    found = packed(message("$a", story))
    assert len(found) > 4
    assert "".join(turn.body for [turn] in found) == story
    for [turn] in found:
        assert len(turn.body.encode()) <= 1_000
        assert words(embedded_form([turn])) <= 256
        assert turn.body.strip().endswith(".")
        assert turn.body.startswith("This is")


@pytest.mark.parametrize("text", ["x" * 9_000, "é" * 4_000, "a\n" * 4_000, "字" * 3_000])
def test_e01_a_text_without_sentences_is_cut_all_the_same(text: str) -> None:
    found = packed(message("$a", text))
    assert "".join(turn.body for [turn] in found) == text
    assert max(len(turn.body.encode()) for [turn] in found) <= 1_000


def test_a_message_with_few_bytes_and_many_tokens_is_cut_too() -> None:
    found = packed(message("$a", "a " * 300), token_limit=100)
    assert "".join(turn.body for [turn] in found) == "a " * 300
    assert all(words(embedded_form(turns)) <= 100 for turns in found)


def test_pieces_of_white_space_alone_are_left_out() -> None:
    text = "a" + "\n" * 3_000 + "b"
    found = packed(message("$a", text))
    assert [turn.body.strip() for [turn] in found] == ["a", "b"]


def test_a_message_too_long_to_be_cut_at_once_is_cut_as_far_as_it_goes() -> None:
    seen: list[int] = []

    def counting(text: str) -> int:
        seen.append(len(text))
        return words(text)

    windows([message("$a", "x" * 60_000)], count_tokens=counting, token_limit=256)
    assert sorted(seen)[-2] <= module.MAX_BYTES * 4 + len("alice: ")


def test_a_window_holds_one_piece_of_a_message_and_the_last_one_goes_on() -> None:
    found = packed(message("$a", " ".join(SENTENCES[:30])), message("$b", "yes", BOB, minutes=1))
    assert [[turn.event for turn in turns] for turns in found] == [["$a"], ["$a", "$b"]]


def test_a_turn_carries_what_its_message_says_of_itself() -> None:
    said = message("$a", "hi", minutes=1, edit="$e", reply_to="$x")
    [[turn]] = packed(said)
    assert turn == Turn(event="$a", sender=ALICE, at=said.at, body="hi", edit="$e", reply_to="$x")


def test_a_long_name_leaves_room_for_words() -> None:
    sender = f"@{'very-long-' * 24}:example.org"
    [[turn]] = packed(message("$a", "hi", sender))
    assert embedded_form([turn]) == "very-long-very-long-very-long-very-long-: hi"


def test_a_passage_shows_sender_and_utc_time_and_embeds_names_and_words() -> None:
    [turns] = packed(message("$a", "hi\nthere"), message("$b", "Hello", BOB, minutes=2))
    [passage] = chat_passages(ROOM, "$root", [turns], rules="r1")
    assert passage.text == (
        "@alice:example.org 2026-01-02 03:04 UTC: hi\nthere\n"
        "@bob:example.org 2026-01-02 03:06 UTC: Hello"
    )
    assert passage.window == "alice: hi\nthere\nbob: Hello"
    assert passage.parts == ("alice: hi\nthere", "bob: Hello")
    assert passage.keywords == indexed("alice: hi\nthere\nbob: Hello")
    assert (passage.id, passage.part) == (passage_id("chat", ROOM, "$root", "$a", 0), 0)
    assert (passage.corpus, passage.kind, passage.source) == ("chat", "window", f"chat:{ROOM}")
    assert (passage.thread, passage.segment, passage.rules) == ("$root", "$a", "r1")
    assert passage.authors == (ALICE, BOB)
    assert (passage.start, passage.end) == (START, turns[1].at)
    assert passage.turns == turns


def test_authors_are_named_once_in_the_order_of_speaking() -> None:
    talk = [message("$a"), message("$b", sender=BOB, minutes=1), message("$c", minutes=2)]
    [passage] = chat_passages(ROOM, "", packed(*talk), rules="r1")
    assert passage.authors == (ALICE, BOB)


def test_parts_number_the_windows_that_begin_with_the_same_message() -> None:
    talk = [message("$a", "x" * 900), message("$b", "y" * 2_500), message("$c", "z" * 900)]
    passages = chat_passages(ROOM, "", packed(*talk), rules="r1")
    numbered = [(passage.turns[0].event, passage.part) for passage in passages]
    assert numbered == [("$a", 0), ("$b", 0), ("$b", 1), ("$b", 2), ("$c", 0)]
    assert {passage.segment for passage in passages} == {"$a"}
    assert [passage.id for passage in passages] == [
        passage_id("chat", ROOM, "", event, part) for event, part in numbered
    ]


def test_w18_the_same_words_in_other_rooms_and_threads_are_other_passages() -> None:
    found = packed(message("$a", "LGTM"))
    places = itertools.product(["!a:example.org", "!b:example.org"], ["", "$root"])
    passages = [chat_passages(*place, found, rules="r1")[0] for place in places]
    assert len({passage.id for passage in passages}) == 4
    assert len({passage.digest for passage in passages}) == 1


def test_m26_a_room_id_without_a_server_is_an_id_like_any_other() -> None:
    room = "!" + "a-_B" * 10 + "xyz"
    [passage] = chat_passages(room, "", packed(message("$a")), rules="r1")
    assert passage.source == f"chat:{room}"


def test_another_text_is_another_digest_and_the_same_id() -> None:
    old, new = (chat_passages(ROOM, "", packed(message("$a", x)), rules="")[0] for x in "ab")
    assert old.id == new.id
    assert old.digest != new.digest


@pytest.mark.parametrize(
    ("body", "nothing"),
    [
        (MARKER, True),
        (f"> {MARKER}\n\n```\n{MARKER}\n```", True),
        (f"it is {MARKER}", False),
        ("\N{THUMBS UP SIGN}", False),
        ("???", False),
    ],
)
def test_e05_a_message_says_nothing_if_only_markers_are_left_of_it(
    body: str, *, nothing: bool
) -> None:
    assert says_nothing(body) is nothing


def test_e05_a_secret_alone_keeps_its_place_and_is_found_by_nothing() -> None:
    talk = [message("$a", MARKER), message("$b", "thanks", BOB, minutes=1)]
    [passage] = chat_passages(ROOM, "", packed(*talk), rules="r1")
    assert [turn.event for turn in passage.turns] == ["$a", "$b"]
    assert passage.window == "bob: thanks"
    assert passage.parts == (NOTHING, "bob: thanks")
    assert passage.keywords == indexed("bob thanks")
    [alone] = chat_passages(ROOM, "", packed(talk[0]), rules="r1")
    assert (alone.window, alone.parts, alone.keywords) == (NOTHING, (NOTHING,), "")
    assert alone.turns[0].body == MARKER


def test_e05_what_says_nothing_has_no_terms_and_fits_everywhere() -> None:
    assert analyse(NOTHING) == ""
    assert words(NOTHING) < 64


def test_windows_of_one_message_do_not_depend_on_its_edit_being_named() -> None:
    said = message("$a", "x" * 2_500)
    edited = replace(said, edit="$e")
    assert bodies(packed(said)) == bodies(packed(edited))
