"""An outline: how good a cut is before each line, and what stands above it.

Every kind of text ends up as the same three lists, so that one packer serves them all.
"""

from dataclasses import dataclass
from typing import Final

Trail = tuple[str, ...]

GLUED: Final = -1
"""No cut here while any other will do: between a heading and its text, say."""

INSIDE: Final = 0
"""A line within a unit (a paragraph, a statement, a string)."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a text's structure says of its lines; each list has one entry a line, counted from 0.

    ``breaks``: how good a cut before the line is, higher is better, from ``GLUED`` up.
    ``sections``: the line starts a section or a definition.
    ``subjects``: the line whose trail a chunk takes that starts here: itself, or the next that is
    no blank, heading or lone bracket.
    ``trails``: the headings or definitions that the line stands in, outermost first.
    """

    breaks: list[int]
    sections: list[bool]
    subjects: list[int]
    trails: list[Trail]

    def trail(self, first: int, last: int) -> Trail:
        """The trail of a chunk of these lines (both inclusive)."""
        return self.trails[min(self.subjects[first], last)]


def plain_outline(lines: list[str]) -> Outline:
    """The outline by blank lines and indentation alone: plain text, configuration, other code.

    Best is a cut after a blank line before a line that is not indented, then after any blank line,
    then before a line that is not indented; a lone closing bracket stays with what it closes.
    """
    breaks, after_blank = [], True
    for line in lines:
        flush = not line[:1].isspace()
        closing = not any(character.isalnum() for character in line[:80])
        breaks.append(INSIDE if closing and not after_blank else 1 + 2 * after_blank + flush)
        after_blank = not line.strip()
    return Outline(breaks, [False] * len(lines), list(range(len(lines))), [()] * len(lines))


def next_subjects(telling: list[bool]) -> list[int]:
    """For each line the next one that is telling, itself included; the last line if none is."""
    subjects, following = [0] * len(telling), len(telling) - 1
    for number in range(len(telling) - 1, -1, -1):
        if telling[number]:
            following = number
        subjects[number] = following
    return subjects
