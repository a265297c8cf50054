"""Outlines of prose: headings of Markdown, reStructuredText, AsciiDoc and Org; Markdown's blocks.

Markdown is parsed by markdown-it-py's block rules alone (no inline rules: all that we need are
heading titles and where blocks begin), so its cost stays linear; its own nesting limit bounds the
stack. The other formats need one small rule each to find headings.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tasks.adapters.chunk_outline import GLUED, INSIDE, Outline, Trail, next_subjects, plain_outline

LONGEST_TITLE: Final = 120
"""Characters of a heading or a name that a trail keeps."""

_STRONGEST = 100  # a heading of level n breaks at 100 - n; everything else is far below
_BLOCK = 40  # a block at the top; one less for each level of nesting
_FRONT_MATTER_LINES = 200
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_MARKED: Final = {
    "adoc": re.compile(r"(={1,6})[ \t]+(\S.*)"),
    "org": re.compile(r"(\*{1,8})[ \t]+(\S.*)"),
}
_ADORNMENT = re.compile(r"([=\-`:.'\"~^_*+#<>])\1{2,}\s*")

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_MARKDOWN.core.ruler.enableOnly(["normalize", "block"])


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading on lines ``first`` to ``last`` (0-based, inclusive); level 1 is the outermost."""

    first: int
    last: int
    level: int
    title: str


def prose_outline(lines: list[str], language: str) -> Outline:
    """The outline of a prose file; ``language`` is one of ``tasks.domain.languages.PROSE``."""
    if language == "markdown":
        breaks, headings = _markdown(lines)
    else:
        breaks = plain_outline(lines).breaks
        headings = _HEADINGS[language](lines) if language in _HEADINGS else []
    return _with_headings(lines, breaks, headings)


def short_title(title: str) -> str:
    """A heading as a trail shows it: one line, links as their text, cut at ``LONGEST_TITLE``."""
    plain = " ".join(_LINK.sub(r"\1", title).split())
    return plain if len(plain) <= LONGEST_TITLE else plain[: LONGEST_TITLE - 1] + "…"


def _with_headings(lines: list[str], breaks: list[int], headings: list[Heading]) -> Outline:
    telling = [bool(line.strip()) for line in lines]
    sections = [False] * len(lines)
    trails: list[Trail] = [()] * len(lines)
    stack: list[Heading] = []
    glued = -1
    for number, heading in enumerate(headings):
        end = headings[number + 1].first if number + 1 < len(headings) else len(lines)
        stack = [*(outer for outer in stack if outer.level < heading.level), heading]
        trails[heading.first : end] = [tuple(h.title for h in stack if h.title)] * (
            end - heading.first
        )
        breaks[heading.first] = GLUED if heading.first == glued else _STRONGEST - heading.level
        sections[heading.first] = heading.first != glued
        telling[heading.first : heading.last + 1] = [False] * (heading.last + 1 - heading.first)
        glued = next((n for n in range(heading.last + 1, end + 1) if _has_text(lines, n)), -1)
        inner = range(heading.first + 1, heading.last + 1)
        for line in (*inner, *([glued] if glued >= 0 else [])):
            breaks[line] = GLUED
    return Outline(breaks, sections, next_subjects(telling), trails)


def _has_text(lines: list[str], number: int) -> bool:
    return number < len(lines) and bool(lines[number].strip())


def _markdown(lines: list[str]) -> tuple[list[int], list[Heading]]:
    breaks = [INSIDE if line.strip() else GLUED for line in lines]
    for number in range(1, len(lines)):
        if not lines[number - 1].strip():
            breaks[number] = INSIDE + 1
    headings = []
    start = _front_matter_end(lines)
    # A carriage return inside a line must not count as a line end: markdown-it would take it so.
    text = "\n" * start + "\n".join(lines[start:]).replace("\r", " ")
    tokens = _MARKDOWN.parse(text)
    for position, token in enumerate(tokens):
        if token.map is None or token.nesting < 0 or token.map[0] >= len(lines):
            continue
        first, end = token.map
        breaks[first] = max(breaks[first], _BLOCK - min(token.level, _BLOCK - 2))
        if token.type == "heading_open" and token.level == 0:
            headings.append(_heading(first, end, token, tokens[position + 1]))
    return breaks, headings


def _heading(first: int, end: int, token: Token, inline: Token) -> Heading:
    return Heading(first, max(first, end - 1), int(token.tag[1:]), short_title(inline.content))


def _front_matter_end(lines: list[str]) -> int:
    """How many lines a YAML block at the top takes, its marks included; 0 for none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:_FRONT_MATTER_LINES], start=2):
        if line.rstrip() in {"---", "..."}:
            return number
    return 0


def _marked(language: str) -> Callable[[list[str]], list[Heading]]:
    def headings(lines: list[str]) -> list[Heading]:
        found = ((number, _MARKED[language].match(line)) for number, line in enumerate(lines))
        return [Heading(n, n, len(m[1]), short_title(m[2])) for n, m in found if m]

    return headings


def _underlined(lines: list[str]) -> list[Heading]:
    """reStructuredText: a title with a line of one mark below (and perhaps above), as wide as it.

    Levels count the styles in the order of their first use, as the format defines it.
    """
    styles: list[str] = []
    headings = []
    for first, last, style, title in _titles(lines):
        if style not in styles:
            styles.append(style)
        headings.append(Heading(first, last, styles.index(style) + 1, short_title(title)))
    return headings


def _titles(lines: list[str]) -> Iterator[tuple[int, int, str, str]]:
    below = -1
    for number in range(1, len(lines)):
        title, mark = lines[number - 1].rstrip(), _ADORNMENT.fullmatch(lines[number])
        if not mark or number - 1 <= below or not title or _ADORNMENT.fullmatch(title):
            continue
        above = number >= 2 and number - 2 > below and lines[number - 2].rstrip()  # noqa: PLR2004
        framed = above == lines[number].rstrip()
        if len(lines[number].rstrip()) < len(title.strip()) or (title[0].isspace() and not framed):
            continue
        below = number
        yield number - 1 - framed, number, mark[1] + "^" * framed, title.strip()


_HEADINGS: Final[dict[str, Callable[[list[str]], list[Heading]]]] = {
    "adoc": _marked("adoc"),
    "org": _marked("org"),
    "rst": _underlined,
}
