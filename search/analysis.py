r"""The keyword side's own text analysis: the same at ingestion and for queries (spec 6.2).

The store splits our output at white space and changes nothing, so what a term is, is decided here
alone. Words are runs of Unicode letters and digits with their marks, compared by NFKC and case
folding. What is joined gives its whole and its parts, from the outside in::

    tasks/domain/fileRules.py    tasks/domain/filerules.py tasks domain
                                 filerules.py filerules file rules py
    merge_room_state             merge_room_state merge room state
    HTTPServer2                  httpserver2 http server2
    @ann:example.org             ann:example.org ann example.org example org
    don't                        dont don
    v1.39.0                      v1.39.0 1.39.0 1 v1 39 0

so that each of ``merge room state``, ``mergeRoomState`` and ``merge_room_state`` finds the others.
A plain word gives one term. Hexadecimal ids of eight characters or more also give their first
seven, the usual short form. Scripts that write without spaces (Chinese, Japanese, Korean, Thai,
Lao, Khmer, Burmese) give overlapping pairs. Everything else (punctuation, emoji) only separates.

Each step looks at each character a bounded number of times: the time is linear in the text.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

ANALYSIS_VERSION: Final = "2"
"""Stored with the collection: a change here, or of ``search.terms``, needs every keyword text made
anew (spec 2.5). 2: stems beside the words."""

LONGEST_TERM: Final = 100
"""Characters. A longer whole is left out, a longer part is cut; the same on both sides."""

_SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # ideographic iteration mark and zero
    (0x3040, 0x31FF),  # Hiragana, Katakana, Bopomofo and their extensions
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_MOST_MARKS = 8  # more in a row than any script stacks; keeps normalising linear


class _Shapes(dict[int, str]):
    """One character of shape for each character of text, so that patterns are plain ASCII.

    ``a`` letter, ``A`` capital, ``0`` digit, ``m`` mark, ``c`` character of a script without
    spaces; the joiners stand for themselves, a space for all else.
    """

    def __missing__(self, point: int) -> str:
        self[point] = shape = _shape_of(point)
        return shape


def _shape_of(point: int) -> str:
    character = chr(point)
    if character in "_-./:@'":
        return character
    kind = unicodedata.category(character)[0]
    if kind == "M":
        return "m"
    if kind not in "LN":
        return " "
    if any(first <= point <= last for first, last in _SPACELESS):
        return "c"
    if kind == "N":
        return "0"
    return "A" if character.isupper() and character.casefold() != character else "a"


class _Kept(dict[int, int | None]):
    """What does not show (soft hyphens, selectors, keycaps) vanishes; quotes become one kind."""

    def __missing__(self, point: int) -> int | None:
        character = chr(point)
        hidden = unicodedata.category(character) in {"Cf", "Me"} and character != _THIN_BREAK
        selector = any(point in selectors for selectors in _SELECTORS)
        self[point] = kept = None if hidden or selector else _QUOTES.get(character, point)
        return kept


_THIN_BREAK = "\N{ZERO WIDTH SPACE}"
_QUOTES: Final = dict.fromkeys(
    "\N{RIGHT SINGLE QUOTATION MARK}\N{MODIFIER LETTER APOSTROPHE}", ord("'")
)
_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_SHAPES, _KEPT = _Shapes(), _Kept()

_WORD = "[aA0][aA0m]*"
_TOKEN = re.compile(rf"{_WORD}(?:(?:_+|::|[./:@'-]){_WORD})*|c[cm]*")
_JOINERS: Final = tuple(re.compile(joiner) for joiner in ("::|[/:@]", "[.-]", "'", "_+"))
_PATH, _DOTTED, _QUOTED, _SNAKE = range(4)
_HUMP = re.compile(r"(?<=[a0m])(?=A)|(?<=A)(?=Am*a)")
_UNIT = re.compile(r"cm*")
_HEX = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,64}")
_SHORT_HEX = 7
_VERSION = re.compile(r"v([0-9]+)\.[0-9]")
_OPAQUE = 30  # a Matrix id after its sigil: random characters, so its capitals start no words


def analyse(text: str) -> str:
    """The text's terms in order, separated by single spaces; empty when it has no word."""
    return " ".join(_terms(_prepared(text)))


def _prepared(text: str) -> str:
    if text.isascii():
        return text
    text = _with_few_marks(text.translate(_KEPT))
    return _with_few_marks(unicodedata.normalize("NFKC", text).translate(_KEPT))


def _with_few_marks(text: str) -> str:
    runs = re.finditer(rf"(?<=m{{{_MOST_MARKS}}})m+", text.translate(_SHAPES))
    kept, end = [], 0
    for run in runs:
        kept.append(text[end : run.start()])
        end = run.end()
    return "".join([*kept, text[end:]])


def _terms(text: str) -> Iterator[str]:
    shape = text.translate(_SHAPES)
    for token in _TOKEN.finditer(shape):
        first, last = token.span()
        if shape[first] == "c":
            yield from _pairs(text[first:last], shape[first:last])
        else:
            opaque = text[first - 1 : first] in {"$", "!"} and last - first >= _OPAQUE
            yield from _joined(text[first:last], humps=not opaque)


def _joined(text: str, level: int = _PATH, *, humps: bool) -> Iterator[str]:
    if level == len(_JOINERS):
        yield from _word(text, humps=humps)
        return
    parts = _JOINERS[level].split(text)
    if len(parts) > 1:
        yield from _quoted(text) if level == _QUOTED else _whole(text, level)
    for part in parts:
        if len(parts) == 1 or level != _QUOTED or len(_folded(part)) > 1:
            yield from _joined(part, level + 1, humps=humps)


def _whole(text: str, level: int) -> Iterator[str]:
    folded = _folded(text)
    if len(folded) > LONGEST_TERM:
        return
    yield folded
    version = _VERSION.match(folded) if level == _DOTTED else None
    if version:
        yield folded[1:]
        yield version[1]


def _quoted(text: str) -> Iterator[str]:
    if "_" not in text:
        yield from _plain(_folded(text.replace("'", "")))


def _word(text: str, *, humps: bool) -> Iterator[str]:
    shape = text.translate(_SHAPES) if humps else ""
    cuts = [0, *(hump.start() for hump in _HUMP.finditer(shape)), len(text)]
    if "a" not in shape or len(cuts) == len((0, -1)):
        yield from _plain(_folded(text))
        return
    folded = _folded(text)
    if len(folded) <= LONGEST_TERM:
        yield from _plain(folded)
    for first, last in itertools.pairwise(cuts):
        yield from _plain(_folded(text[first:last]))


def _plain(folded: str) -> Iterator[str]:
    yield folded[:LONGEST_TERM]
    if _HEX.fullmatch(folded):
        yield folded[:_SHORT_HEX]


def _pairs(text: str, shape: str) -> Iterator[str]:
    units = [text[unit.start() : unit.end()] for unit in _UNIT.finditer(shape)]
    if len(units) == 1:
        yield units[0]
    for left, right in itertools.pairwise(units):
        yield left + right


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text.casefold())
