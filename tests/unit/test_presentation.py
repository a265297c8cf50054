"""Text that is safe on a terminal, as such and in JSON (spec 6.7)."""

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.presentation import dumps, printable

OBEYED = [
    pytest.param("\x1b[2J\x1b[31m", id="colour-and-clear"),
    pytest.param("\x1b]0;title\x07", id="window-title"),
    pytest.param("\x1b]52;c;AAAA\x07", id="clipboard"),
    pytest.param("\x9b2J", id="c1-control"),
    pytest.param("\x9d0;title\x9c", id="c1-title"),
    pytest.param("\r", id="carriage-return"),
    pytest.param("\x08", id="backspace"),
    pytest.param("\x07", id="bell"),
    pytest.param("\x7f", id="delete"),
    pytest.param("\x00", id="nul"),
    pytest.param("\x0b", id="vertical-tab"),
    pytest.param("\u202e", id="right-to-left-override"),
    pytest.param("\u2066", id="isolate"),
    pytest.param("\u200f", id="right-to-left-mark"),
    pytest.param("\u200b", id="zero-width-space"),
    pytest.param("\ufeff", id="byte-order-mark"),
    pytest.param("\u2028", id="line-separator"),
    pytest.param("\U000e0041", id="tag-letter"),
    pytest.param("\ue000", id="private-use"),
]


def obeyed(text: str) -> set[str]:
    """Characters that a terminal acts on or hides, apart from line ends."""
    return {
        c
        for c in text
        if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        and c not in "\n\u200c\u200d"
    }


@pytest.mark.parametrize("sequence", OBEYED)
def test_what_a_terminal_would_obey_is_never_printed(sequence: str) -> None:
    shown = printable(f"before{sequence}after")
    assert obeyed(shown) == set()
    assert shown.startswith("before�")
    assert shown.endswith("after")


@settings(deadline=None)
@given(st.text(max_size=50))
def test_no_text_at_all_gets_a_control_through(text: str) -> None:
    assert obeyed(printable(text, keep="")) == set()
    assert "\n" not in printable(text, keep="")
    assert obeyed(printable(text)) <= {"\t"}


def test_plain_words_of_every_script_are_printed_as_they_are() -> None:
    text = "Käse, žluťoučký kůň, 日本語, مرحبا, می\u200cخواهم, 👩\u200d🔧, a\tb\nc"
    assert printable(text) == text


def test_line_ends_of_windows_are_line_ends() -> None:
    assert printable("a\r\nb") == "a\nb"


@pytest.mark.parametrize("sequence", OBEYED)
def test_json_is_safe_on_a_terminal_and_says_the_same(sequence: str) -> None:
    value = {f"x{sequence}x": [f"one x{sequence}x\ntwo"]}
    document = dumps(value)
    assert {unicodedata.category(character) for character in obeyed(document)} <= {"Co"}
    assert json.loads(document) == value


def test_letters_outside_ascii_are_readable_in_json() -> None:
    assert "žluťoučký 日本語" in dumps({"text": "žluťoučký 日本語"})
