"""What the terminal is given: styles and links of our own, nothing of what people wrote (6.7)."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search import terminal
from search.render_commands import as_text, items
from search.terminal import Look, body, broken, cells

RICH = Look(width=60, styled=True, links=True)
OWN = re.compile(r"\x1b\[(?:1|2|1;4|0)m|\x1b\]8;;(?:https?://[!-~]+)?\x1b\\")
"""Every sequence that we write ourselves."""

FORGE = {
    "repository": "one",
    "commit": "c" * 40,
    "path": "docs/a.md",
    "blob": "b" * 40,
    "lines": [3, 9],
    "columns": None,
    "link": "https://git.example.org/one/blob/c/docs/a.md#L3-L9",
}
ROOM = {
    "room": "!room:example.org",
    "alias": "#project:example.org",
    "thread": None,
    "first": "$one",
    "last": "$two",
    "link": "https://matrix.to/#/!room:example.org/$one",
}
FILE: dict[str, Any] = {
    "rank": 1,
    "id": "id-1",
    "corpus": "forge",
    "source": "repo:one",
    "kind": "file",
    "name": "one",
    "label": "The first",
    "authors": [],
    "start": None,
    "end": None,
    "trail": ["Keys", "Rotation"],
    "text": "first line\n\tsecond line\n",
    "turns": [],
    "citation": FORGE,
    "also": [],
    "status": "current",
}
TURNS = [
    {"sender": "@ada:example.org", "at": "2026-01-02T12:00:00+00:00", "body": "Rotate it."},
    {"sender": "@bob:example.org", "at": "2026-01-02T12:30:00+00:00", "body": "Which key?\nThis?"},
]
WINDOW = FILE | {
    "corpus": "chat",
    "source": "chat:!room:example.org",
    "kind": "window",
    "label": None,
    "authors": ["@ada:example.org", "@bob:example.org"],
    "start": "2026-01-02T12:00:00+00:00",
    "end": "2026-01-02T12:30:00+00:00",
    "trail": [],
    "turns": TURNS,
    "citation": ROOM,
    "status": "edited",
}


def found(*hits: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The document of a search."""
    return {
        "command": "search",
        "texts": ["rotate the KEY"],
        "hits": list(hits),
        "clipped": [],
        "unavailable": [],
        **more,
    }


def plain(document: dict[str, Any]) -> list[str]:
    return [*as_text(document, Look())]


def test_a_file_is_shown_with_rank_place_link_and_every_line_of_its_text() -> None:
    assert plain(found(FILE)) == [
        "  1. one docs/a.md:3-9 @ cccccccccccc",
        "     The first · Keys › Rotation",
        "     https://git.example.org/one/blob/c/docs/a.md#L3-L9",
        "     id id-1",
        "     │ first line",
        "     │     second line",
        "",
    ]


def test_a_commit_is_shown_with_author_and_time() -> None:
    citation = {"repository": "one", "commit": "d" * 40, "path": None, "lines": None, "link": None}
    hit = FILE | {
        "label": None,
        "authors": ["Ada Lovelace"],
        "start": "2026-01-02T03:04:00+00:00",
        "end": "2026-01-02T03:04:00+00:00",
        "trail": [],
        "text": "Fix it",
        "citation": citation,
        "status": "stale",
    }
    assert plain(found(hit)) == [
        "  1. one dddddddddddd",
        "     Ada Lovelace · 2026-01-02 03:04 UTC · stale",
        "     id id-1",
        "     │ Fix it",
        "",
    ]


def test_a_window_is_shown_with_its_room_its_senders_and_who_said_what_when() -> None:
    assert plain(found(WINDOW)) == [
        "  1. #project:example.org",
        "     @ada:example.org, @bob:example.org · 2026-01-02 12:00 – 12:30 UTC · edited",
        "     https://matrix.to/#/!room:example.org/$one",
        "     id id-1",
        "     │ 12:00 ada: Rotate it.",
        "     │ 12:30 bob: Which key?",
        "     │ This?",
        "",
    ]


def test_a_thread_and_a_room_without_an_alias_are_named() -> None:
    citation = ROOM | {"alias": None, "thread": "$root"}
    assert plain(found(WINDOW | {"citation": citation}))[0] == (
        "  1. !room:example.org · thread $root"
    )


def test_copies_what_is_missing_and_what_was_clipped_are_told() -> None:
    other = FORGE | {"repository": "two", "path": "copy.md"}
    missing = [{"source": "repo:two", "reason": "the last run failed: gone"}]
    lines = plain(found(FILE | {"also": [other]}, unavailable=missing, clipped=["words"]))
    assert "     also two copy.md:3-9 @ cccccccccccc" in lines
    assert lines[-1] == "unavailable: repo:two: the last run failed: gone"
    assert lines[-2].startswith("clipped: ")
    assert lines[-2].endswith(": words")


def test_nothing_found_is_said_and_a_reason_of_no_one_source_stands_by_itself() -> None:
    missing = [{"source": "*", "reason": "Nothing was ingested yet."}]
    assert plain(found()) == ["Nothing found."]
    assert plain(found(unavailable=missing))[1:] == ["unavailable: Nothing was ingested yet."]


def test_the_words_of_the_question_are_marked_whole_in_any_case_and_in_identifiers() -> None:
    text = "Keys: rotate the key, monkey, signing_key, RotateKey"
    (line,) = body(text, Look(styled=True), prefix="", terms=["ROTATE key it"])
    marked = re.findall(r"\x1b\[1;4m(.*?)\x1b\[0m", line)
    assert marked == ["rotate", "key", "key"]


def test_all_is_well_only_where_every_source_can_be_vouched_for() -> None:
    well = DOCTOR | {"problems": [], "unavailable": []}
    assert plain(well)[0] == "Everything is well."
    lines = plain(well | {"unavailable": [{"source": "repo:two", "reason": "gone"}]})
    assert "Everything is well." not in lines
    assert lines[-1] == "unavailable: repo:two: gone"


def test_words_of_grammar_are_marked_only_where_nothing_else_was_asked() -> None:
    def marked(question: str) -> list[str]:
        (line,) = body("How the key is turned", Look(styled=True), prefix="", terms=[question])
        return re.findall(r"\x1b\[1;4m(.*?)\x1b\[0m", line)

    assert marked("how is the key rotated") == ["key"]
    assert marked("how the") == ["How", "the"]


def test_without_styles_nothing_is_marked_or_linked() -> None:
    assert not any("\x1b" in line for line in plain(found(FILE, WINDOW)))


def test_the_citation_is_a_link_where_the_terminal_can_and_is_written_out_elsewhere() -> None:
    rich = [*as_text(found(FILE), RICH)]
    assert f"\x1b]8;;{FORGE['link']}\x1b\\" in rich[0]
    assert len([line for line in rich if FORGE["link"] in line]) == 1
    styled = [*as_text(found(FILE), Look(styled=True))]
    assert not any("\x1b]8" in line for line in styled)
    assert any(FORGE["link"] in line for line in styled)


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("https://x/\x1b\\\x1b[2J", id="ends-early"),
        pytest.param("https://x/\x07\x1b[2J", id="bell"),
        pytest.param("https://x/\x9c", id="c1"),
        pytest.param("https://x/ y", id="blank"),
        pytest.param("file:///etc/passwd", id="file"),
        pytest.param("javascript:alert(1)", id="script"),
    ],
)
def test_what_is_no_plain_web_address_is_no_link(target: str) -> None:
    assert RICH.link("here", target) == "here"


HOSTILE = [
    "\x1b[2J",
    "\x1b]8;;https://evil.example/\x1b\\",
    "\x9b31m",
    "\r",
    "\x07",
    "\u202e",
    "\n9. one",
]


def spoiled(value: Any, sequence: str) -> Any:
    """``value`` with ``sequence`` in every text that others may have written."""
    if isinstance(value, dict):
        kept = {"command", "at", "start", "end", "turn"}
        return {k: v if k in kept else spoiled(v, sequence) for k, v in value.items()}
    if isinstance(value, list):
        return [spoiled(each, sequence) for each in value]
    return f"x{sequence}x" if isinstance(value, str) else value


ENTRY = FILE | {"author": "Ada", "at": "2026-01-02T03:04:00+00:00"}
SAID = [turn | {"turn": 1, "event": "$one", "edited": True, "link": ROOM["link"]} for turn in TURNS]
TALK = {
    "kind": "thread",
    "name": "x",
    "label": None,
    "alias": "#project:example.org",
    "asked": "$one",
    "start": TURNS[0]["at"],
    "end": TURNS[1]["at"],
    "turns": SAID,
    "more_before": True,
    "more_after": True,
}
THEME = {
    "terms": ["key", "rotation"],
    "size": 2,
    "sources": [{"source": "repo:one", "size": 2}],
    "start": TURNS[0]["at"],
    "end": TURNS[1]["at"],
    "typical": [FILE, WINDOW],
}
SOURCE = {
    "source": "repo:one",
    "name": "uno",
    "label": "The first",
    "state": "current",
    "passages": 3,
    "fresh_at": TURNS[0]["at"],
    "covered_since": TURNS[0]["at"],
    "cursor": {"commit": "c" * 40, "phase": None},
    "last_attempt": TURNS[0]["at"],
}
DOCTOR = {
    "command": "doctor",
    "problems": ["repo:two: not ingested yet"],
    "server": {"ready": True, "version": "1.39.0"},
    "collection": {"alias": "Huginn", "name": "Huginn_1"},
    "model": {"configured": "mini", "name": "mini", "digest": "0" * 64},
    "sources": [SOURCE],
    "journal": {"refused": [{"room": "!dm:example.org", "reason": "a direct chat"}]},
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "search": found(FILE, WINDOW, unavailable=[{"source": "repo:two", "reason": "gone"}]),
    "recent": {"command": "recent", "entries": [ENTRY, ENTRY | {"citation": ROOM}]},
    "thread": {"command": "thread", "conversation": TALK},
    "themes": {"command": "themes", "themes": [THEME], "total": 9, "sampled": 2},
    "get": {"command": "get", "passage": FILE, "before": [WINDOW], "after": [FILE]},
    "sources": {"command": "sources", "sources": [SOURCE]},
    "doctor": DOCTOR,
}
for each in DOCUMENTS.values():
    each.setdefault("unavailable", [])


@pytest.mark.parametrize("command", DOCUMENTS)
@pytest.mark.parametrize("sequence", HOSTILE, ids=ascii)
def test_nothing_that_people_wrote_is_obeyed_by_the_terminal(command: str, sequence: str) -> None:
    fresh = spoiled(DOCUMENTS[command], sequence)
    for look in (Look(), RICH):
        for line in as_text(fresh, look):
            left = OWN.sub("", line)
            assert not set(left) & {"\x1b", "\x9b", "\r", "\x07", "\u202e", "\n"}
            assert "https://evil.example/\x1b" not in line
            assert not left.startswith("9.")


@pytest.mark.parametrize("command", DOCUMENTS)
def test_every_answer_tells_its_facts(command: str) -> None:
    told = {
        "search": ["docs/a.md:3-9", "#project:example.org", "repo:two: gone"],
        "recent": ["Ada", "2026-01-02 03:04", "first line"],
        "thread": ["#project:example.org", "Rotate it.", "… more before", "… more after", " > "],
        "themes": ["key, rotation", "2 passages", "repo:one 2", "2 of 9 passages"],
        "get": [">", "first line", "Which key?"],
        "sources": ["repo:one", "The first", "uno", "current", "3 passages", "fresh 2026-01-02"],
        "doctor": ["problem: repo:two", "Weaviate 1.39.0", "Huginn_1", "mini", "c" * 40, "!dm:"],
    }[command]
    text = "\n".join(plain(DOCUMENTS[command]))
    assert [fact for fact in told if fact.strip() not in text] == []


@pytest.mark.parametrize("command", ["search", "recent", "thread", "themes", "get", "sources"])
def test_an_empty_answer_is_told_as_such(command: str) -> None:
    empty = {"hits": [], "entries": [], "themes": [], "sources": [], "total": 0, "sampled": 0}
    none = {"conversation": None, "passage": None, "before": [], "after": []}
    document = DOCUMENTS[command] | empty | none
    assert plain(document)[0] in {"Nothing found.", "No source is listed."}
    assert items(document) == []


@pytest.mark.parametrize("command", DOCUMENTS)
def test_each_answer_has_members_for_a_line_each(command: str) -> None:
    numbers = {"search": 2, "recent": 2, "thread": 2, "themes": 1, "get": 3}
    assert len(items(DOCUMENTS[command])) == numbers.get(command, 1)


@settings(deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=80),
    st.integers(2, 40),
)
def test_no_piece_of_a_line_is_wider_than_there_is_room_and_no_letter_is_lost(
    line: str, room: int
) -> None:
    pieces = [*broken(line, room)]
    assert all(cells(piece) <= room for piece in pieces)
    assert "".join(pieces).replace(" ", "") == line.replace(" ", "")


def test_breaking_a_line_looks_at_each_letter_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = 0
    measure = terminal._cells

    def counted(character: str) -> int:
        nonlocal looked
        looked += 1
        return measure(character)

    monkeypatch.setattr(terminal, "_cells", counted)
    assert len([*broken("x" * 5_000, 50)]) == 100
    assert looked < 3 * 5_000


def test_lines_break_at_blanks_and_wide_letters_count_twice() -> None:
    assert [*broken("one two three", 8)] == ["one two", "three"]
    assert [*broken("日本語です", 4)] == ["日本", "語で", "す"]
    assert [*broken("any length", None)] == ["any length"]
