"""Answers for people: JSON documents as lines of a terminal. Pure; standard library only.

Whatever people wrote goes through ``printable`` first; styles and links are put around it last, so
no escape sequence but our own ever reaches the terminal (spec 6.7).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search.grammar import GRAMMAR
from search.presentation import JOINERS, printable

Document = Mapping[str, Any]

_BOLD, _DIM, _TERM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[1;4m", "\x1b[0m"
_WORD = re.compile(r"[^\W_]+")
_LEAST_TERM = 3
_LEAST_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Look:
    """What the terminal can: ``width`` in cells (None: lines are not broken), styles, links."""

    width: int | None = None
    styled: bool = False
    links: bool = False

    def bold(self, text: str) -> str:
        """Text that has gone through ``printable``."""
        return f"{_BOLD}{text}{_PLAIN}" if self.styled and text else text

    def dim(self, text: str) -> str:
        """The same, set back."""
        return f"{_DIM}{text}{_PLAIN}" if self.styled and text else text

    def link(self, text: str, target: str | None) -> str:
        """``text`` leading to ``target`` (OSC 8) if it is a web address."""
        safe = target and re.fullmatch(r"https?://[!-~]+", target)
        return f"\x1b]8;;{target}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and safe else text


PLAIN = Look()


def one_line(*parts: Any) -> str:
    """What there is of ``parts``, on one line, printable."""
    return printable(" · ".join(str(part) for part in parts if part), keep="")


def body(text: str, look: Look, *, prefix: str, terms: Sequence[str] = ()) -> Iterator[str]:
    """The lines of a text under a bar, broken to the width, hit terms marked."""
    marked = _marks(terms) if look.styled else None
    bar = f"{prefix}{look.dim('│')} " if look.styled else f"{prefix}│ "
    room = max(_LEAST_WIDTH, look.width - len(prefix) - 2) if look.width else None
    for line in printable(text).expandtabs(4).rstrip("\n").split("\n"):
        for piece in broken(line, room):
            yield bar + (marked.sub(rf"{_TERM}\g<0>{_PLAIN}", piece) if marked else piece)


def broken(line: str, room: int | None) -> Iterator[str]:
    """``line`` in pieces of at most ``room`` cells, at blanks where that can be."""
    while room and (cut := _fitting(line, room)) < len(line):
        blank = line.rfind(" ", 1, cut + 1)
        if blank > 0 and line[:blank].strip():
            yield line[:blank]
            line = line[blank:].lstrip(" ")
        else:
            yield line[:cut]
            line = line[cut:]
    yield line


def cells(text: str) -> int:
    """How wide ``text`` is on a terminal."""
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character) or character in JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fitting(line: str, room: int) -> int:
    used = 0
    for place, character in enumerate(line):
        used += _cells(character)
        if used > room:
            return max(1, place)
    return len(line)


def _marks(terms: Sequence[str]) -> re.Pattern[str] | None:
    """What the question is asked by, in any case, as whole words or parts of an identifier."""
    words = {word for term in terms for word in _WORD.findall(term) if len(word) >= _LEAST_TERM}
    telling = {word for word in words if word.lower() not in GRAMMAR} or words
    known = sorted(telling, key=len, reverse=True)
    if not known:
        return None
    choice = "|".join(re.escape(word) for word in known)
    return re.compile(rf"(?<![^\W_])(?:{choice})(?![^\W_])", re.IGNORECASE)
