"""The text of a message's content (spec 4.1)."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.domain import bodies
from tasks.domain.bodies import MESSAGE_TYPES, MalformedContent, is_blank, text_of
from tests.support.events import text_content

QUOTE = "> <@bob:example.org> what did\n> you say\n\n"


@pytest.mark.parametrize(
    ("msgtype", "stored"),
    [
        ("m.text", "waves"),
        ("m.notice", "waves"),
        ("m.emote", "* waves"),
        ("m.location", None),
        ("m.image", None),
        ("m.file", None),
        ("org.example.dance", None),
    ],
)
def test_m36_each_kind_of_message_has_its_rule(msgtype: str, stored: str | None) -> None:
    assert text_of(text_content("waves", msgtype)) == stored


@pytest.mark.parametrize("kind", ["m.image", "m.video", "m.audio", "m.file"])
def test_a_caption_is_text_and_a_file_name_alone_is_not(kind: str) -> None:
    assert text_of(text_content("our cat", kind, filename="cat.png")) == "our cat"
    assert text_of(text_content("cat.png", kind, filename="cat.png")) is None
    assert text_of(text_content("cat.png", kind)) is None
    assert text_of(text_content("our cat", kind, filename=7)) is None


@pytest.mark.parametrize(
    "broken", [{}, {"msgtype": "m.text"}, {"body": "a"}, text_content("a") | {"body": ["a"]}]
)
def test_a_content_without_type_or_body_is_malformed(broken: dict[str, object]) -> None:
    with pytest.raises(MalformedContent):
        text_of(broken)


def reply(body: str, **more: object) -> dict[str, object]:
    return text_content(body) | {"m.relates_to": {"m.in_reply_to": {"event_id": "$q"}}} | more


def test_m31_only_the_quote_at_the_top_of_a_reply_goes() -> None:
    answer = "I said:\n> own quote\n\n```diff\n> a\n> b\n```"
    assert text_of(reply(QUOTE + answer)) == answer


@pytest.mark.parametrize("start", ["> own quote\n\nand text", "> <b> is bold\n\nyes", "text"])
def test_m31_a_reply_without_a_quoted_sender_stays_as_it_is(start: str) -> None:
    assert text_of(reply(start)) == start


def test_m31_a_quote_in_what_is_no_reply_stays() -> None:
    assert text_of(text_content(QUOTE + "yes")) == QUOTE + "yes"


def test_m31_an_own_quote_right_after_the_fallback_stays() -> None:
    assert text_of(reply(QUOTE + "> own quote\nyes")) == "> own quote\nyes"


def test_the_fallback_of_an_emote_goes_too() -> None:
    assert text_of(reply("> * <@bob:example.org> waves\n\nback", msgtype="m.emote")) == "* back"


def test_a_new_content_is_a_reply_if_its_original_is() -> None:
    new = text_content(QUOTE + "yes")
    assert text_of(new, is_reply=True) == "yes"


def test_a_reply_that_says_nothing_has_no_text() -> None:
    assert text_of(reply(QUOTE)) is None
    assert text_of(reply(QUOTE + " \n", msgtype="m.emote")) is None


def test_m33_links_in_nested_quotes_are_not_the_answers() -> None:
    formatted = (
        "<mx-reply><blockquote><mx-reply><a href='https://a.example'>a</a></mx-reply>"
        "<a href='https://b.example'>b</a></blockquote></mx-reply>"
        "<b>see</b> <a href='https://c.example'>c</a>"
    )
    assert text_of(reply(QUOTE + "see c", formatted_body=formatted)) == "see c\nhttps://c.example"


@pytest.mark.parametrize(
    "formatted",
    [
        "<mx-reply><mx-reply><a href='https://a.example'>a</a>",
        "</mx-reply></mx-reply>see c",
        "<mx-reply",
        "<mx-reply></mx-reply x='",
    ],
)
def test_m33_quotes_left_open_or_never_opened_do_no_harm(formatted: str) -> None:
    assert text_of(reply(QUOTE + "see c", formatted_body=formatted)) == "see c"


def test_m33_a_stray_end_hides_no_link() -> None:
    stray = "</mx-reply><mx-reply><a href='https://a.example'>a</a></mx-reply>"
    assert linked(stray + "<a href='https://b.example'>b</a>") == ["https://b.example"]


def linked(formatted: str, body: str = "see here") -> list[str]:
    text = text_of(text_content(body, formatted_body=formatted))
    assert text is not None
    assert text.startswith(body)
    return text.removeprefix(body).split("\n")[1:]


def test_m34_link_targets_that_the_body_lacks_follow_it() -> None:
    two = '<a href="https://x.example/a?b&amp;c=d">here</a> <A\nHREF=mailto:al@x.example>mail</A>'
    assert linked(two) == ["https://x.example/a?b&c=d", "mailto:al@x.example"]


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("https://x.example/a", "see https://x.example/a"),
        ("https://x.example/", "see https://x.example"),
        ("https://x.example/%C3%A9", "see https://x.example/é"),
        ("mailto:al@x.example", "write to al@x.example"),
    ],
)
def test_m34_a_link_that_the_body_shows_is_not_said_twice(target: str, body: str) -> None:
    assert linked(f'<a href="{target}">x</a>', body) == []


def test_m34_the_same_link_is_said_once() -> None:
    assert linked("<a href='https://x.example'>a</a> <a href='https://x.example'>b</a>") == [
        "https://x.example"
    ]


@pytest.mark.parametrize(
    "target",
    [
        "https://matrix.to/#/@bob:example.org",
        "https://matrix.to/#/%40bob:example.org",
        "matrix:u/bob:example.org",
        "javascript:alert(1)",
        "data:text/html,x",
        "//x.example",
        "https://x.example/" + "a" * 3_000,
        "https://x.example/&#" + "9" * 1_900 + ";" * 200,
    ],
)
def test_m34_mentions_and_what_is_no_address_are_left_out(target: str) -> None:
    assert linked(f'<a href="{target}">Bob</a>') == []


def test_m34_a_link_to_an_event_is_kept() -> None:
    target = "https://matrix.to/#/!r:example.org/$e"
    assert linked(f"<a href='{target}'>this</a>") == [target]


@pytest.mark.parametrize(
    "formatted",
    [
        "<!-- <a href='https://x.example'>x</a> -->",
        "<img alt=\"<a href='https://x.example'>\">",
        "<abbr href='https://x.example'>x</abbr>",
        "<a title=\"href='https://x.example'\">x</a>",
        "<a href='https://x.example",
        "</a href='https://x.example'>",
    ],
)
def test_what_only_looks_like_a_link_is_none(formatted: str) -> None:
    assert linked(formatted) == []


def test_a_link_with_a_bracket_in_it_is_read_whole() -> None:
    assert linked("<a class=x href='https://x.example/?a>b'>x</a>") == ["https://x.example/?a>b"]


@pytest.mark.parametrize("body", ["", " \n\t", "\u200b\u2060", "\x07"])
def test_e05_a_blank_message_has_no_text(body: str) -> None:
    assert is_blank(body)
    assert text_of(text_content(body)) is None
    assert text_of(text_content(body, "m.emote")) is None


def test_a_single_sign_is_a_text() -> None:
    assert text_of(text_content("\N{THUMBS UP SIGN}")) == "\N{THUMBS UP SIGN}"


def test_text_is_stored_as_it_is_but_for_line_ends_and_what_cannot_be_stored() -> None:
    assert text_of(text_content("  a\r\nb\rc\x1b[1m\0\ud800 ")) == "  a\nb\nc\x1b[1m\ufffd\ufffd "


PIECES = [
    *["<a", "<a ", "<a href=", '<a href="', "<a href='", "<mx-reply>", "<!--", "<", '"', "'"],
    *["href = ", "a = ", "&#9", "x=\"'", "> <@a> ", "</mx-reply"],
]


class Watched:
    """A pattern that counts the characters that it goes over, all that are left if it fails."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.looked_at = pattern, 0

    def match(self, text: str, place: int) -> re.Match[str] | None:
        found = self.pattern.match(text, place)
        self.looked_at += (found.end() if found else len(text)) - place
        return found

    def search(self, text: str, place: int) -> re.Match[str] | None:
        found = self.pattern.search(text, place)
        self.looked_at += (found.end() if found else len(text)) - place
        return found


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("name", ["_TAG", "_TAG_END"])
def test_hostile_markup_is_read_in_one_pass(
    name: str, piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(getattr(bodies, name))
    monkeypatch.setattr(bodies, name, watched)
    html = piece * 2_000
    list(bodies._link_targets(html))
    assert watched.looked_at <= len(html)


@given(
    st.dictionaries(
        st.sampled_from(["msgtype", "body", "formatted_body", "filename", "m.relates_to"]),
        st.sampled_from([*MESSAGE_TYPES, None, 3, [], {}, {"m.in_reply_to": {}}])
        | st.lists(st.sampled_from(PIECES)).map("".join)
        | st.text(st.characters(codec=None, exclude_categories=())),
    )
)
@settings(deadline=None)
def test_whatever_a_content_holds_gives_a_storable_text_or_none(content: dict[str, object]) -> None:
    try:
        text = text_of(content)
    except MalformedContent:
        return
    assert text is None or (text.encode() and not is_blank(text))
