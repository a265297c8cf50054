"""Packs lines into chunks: as large as they may be, cut where the outline says it is best.

Ranges of lines are pairs (first, last), 0-based and inclusive, without blank lines at their ends.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from tasks.adapters.chunk_outline import Outline

Range = tuple[int, int]

_ENOUGH: Final = 0.4  # of the limit: sections share a chunk up to this size, so trails stay true
_TINY: Final = 0.12  # of the limit: lines that are no section of their own join a neighbour


@dataclass(frozen=True, slots=True)
class Packer:
    """The lines of one text, their sizes summed up so that a range is measured in no time.

    ``fits`` tells whether a range may be one chunk; ``max_bytes`` is the size it aims at.
    """

    lines: list[str]
    outline: Outline
    sums: list[int]
    fits: Callable[[int, int], bool]
    max_bytes: int

    def packed(self) -> list[Range]:
        """Every line that is not blank, in order, each in exactly one range.

        A range that does not fit is a single line: too long for itself.
        """
        packed: list[Range] = []
        for piece in self.cut(0, len(self.lines) - 1):
            held = packed[-1] if packed else None
            tiny = held and (self._is_tiny(held) or self._is_tiny(piece))
            if held and tiny and self._may_grow(held, piece) and self.fits(held[0], piece[1]):
                packed[-1] = (held[0], piece[1])
            else:
                packed.append(piece)
        return packed

    def cut(self, first: int, last: int) -> list[Range]:
        """Ranges for these lines, split at the best breaks until all of them fit."""
        done: list[Range] = []
        whole = self._trimmed(first, last)
        waiting = [whole] if whole else []
        while waiting:
            part = waiting.pop()
            if part[0] == part[1] or self.fits(*part):
                done.append(part)
            else:
                waiting.extend(reversed(self._filled(*part)))
        return done

    def _filled(self, first: int, last: int) -> list[Range]:
        """The parts between the best breaks, put together while they fit."""
        filled: list[Range] = []
        for part in self._parts(first, last):
            held = filled[-1] if filled else None
            if held and self._may_grow(held, part) and self.fits(held[0], part[1]):
                filled[-1] = (held[0], part[1])
            else:
                filled.append(part)
        return filled

    def _parts(self, first: int, last: int) -> Iterable[Range]:
        inner = [number for number in range(first + 1, last + 1) if self.lines[number].strip()]
        breaks = self.outline.breaks
        best = max(breaks[number] for number in inner)
        cuts = [number for number in inner if breaks[number] == best]
        trimmed = (
            self._trimmed(start, end - 1) for start, end in pairwise([first, *cuts, last + 1])
        )
        return (part for part in trimmed if part is not None)

    def _may_grow(self, held: Range, part: Range) -> bool:
        """Whether the two may share a chunk, and with it the trail of the first.

        Sections do while they are small; and a few lines that a section begins with, such as a
        title or the head of a class, go with the first section inside it.
        """
        if not self.outline.sections[part[0]]:
            return True
        if self._size(held[0], part[1]) <= _ENOUGH * self.max_bytes:
            return True
        outer, inner = self.outline.trail(*held), self.outline.trail(*part)
        return self._is_tiny(held) and bool(outer) and inner[: len(outer)] == outer != inner

    def _is_tiny(self, piece: Range) -> bool:
        return self._size(*piece) < _TINY * self.max_bytes

    def _size(self, first: int, last: int) -> int:
        return self.sums[last + 1] - self.sums[first] - 1

    def _trimmed(self, first: int, last: int) -> Range | None:
        while first <= last and not self.lines[first].strip():
            first += 1
        while last > first and not self.lines[last].strip():
            last -= 1
        return (first, last) if first <= last else None


def summed(sizes: Iterable[int]) -> list[int]:
    """Running sums: the size of items ``a`` to ``b`` (inclusive) is ``sums[b + 1] - sums[a]``."""
    return list(accumulate(sizes, initial=0))
