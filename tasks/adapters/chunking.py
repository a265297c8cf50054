r"""Cuts a file's text into chunks that follow its structure (spec 5.3).

A chunk is whole lines: ``"\n".join(lines[first - 1 : last])`` of the text split at ``\n`` is its
text, character for character, so a CRLF file's chunks hold ``\r\n`` and may end in ``\r``. Blank
lines between chunks are in none; every other line is in exactly one. A single line that is too long
is cut at sentences or words; its pieces carry ``columns``, end exclusive, without white space at
their ends.

An outline (``chunk_prose``, ``chunk_code``) tells where cuts are good; ``chunk_packing`` fills
chunks. Whatever cannot be outlined within bounds is packed by blank lines and indentation.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from semantic_text_splitter import TextSplitter

from search.passage import Lines
from tasks.adapters.chunk_code import code_outline
from tasks.adapters.chunk_outline import Outline, Trail, plain_outline
from tasks.adapters.chunk_packing import Packer, summed
from tasks.adapters.chunk_prose import prose_outline
from tasks.domain.files import TRAIL_SEPARATOR, embedded_text
from tasks.domain.languages import PARSED, PROSE, language_of
from tasks.ports import Chunk

MOST_LINES: Final = 50_000
"""A longer file is packed without an outline."""

TRAIL_TOKENS: Final = 60
"""The most that a trail may take of the embedder's limit; a quarter of it where that is less."""

_WINDOW = 4  # times max_bytes: how much of a long line is looked at at once
_LEAST_TOKENS, _LEAST_BYTES = 32, 16  # so that a word fits beside the longest trail


@dataclass(slots=True)
class StructureChunker:
    """Chunks of at most ``max_bytes`` UTF-8 bytes that the embedder takes whole.

    ``count_tokens`` counts a text as the embedder sees it, its special tokens included;
    ``token_limit`` bounds the embedded form (``tasks.domain.files.embedded_text``: the trail, then
    the text). Lines are counted one by one and summed; each chunk is counted once more as a whole,
    so the limit holds for any tokenizer.

    Raises:
        ValueError: a limit too small to hold anything.
    """

    count_tokens: Callable[[str], int]
    token_limit: int
    max_bytes: int = 1000
    special: int = field(init=False)

    def __post_init__(self) -> None:
        self.special = self.count_tokens("")
        if self.token_limit < self.special + _LEAST_TOKENS or self.max_bytes < _LEAST_BYTES:
            raise ValueError("the limits leave no room for text: raise token_limit or max_bytes")

    def chunks(self, path: str, text: str) -> list[Chunk]:
        """Chunks in order of place; blank ones left out."""
        lines = text.split("\n")
        return list(_File(self, lines, _outline(path, text, lines)).chunks())


def _outline(path: str, text: str, lines: list[str]) -> Outline:
    language = language_of(path, text) if len(lines) <= MOST_LINES else None
    outline = None
    if language in PROSE:
        outline = prose_outline(lines, language)
    elif language in PARSED:
        outline = code_outline(lines, language)
    return outline or plain_outline(lines)


@dataclass(slots=True)
class _File:
    limits: StructureChunker
    lines: list[str]
    outline: Outline
    bytes_to: list[int] = field(init=False)
    tokens_to: list[int] = field(init=False)
    trails: dict[Trail, tuple[Trail, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts: dict[str, int] = {}
        for line in set(self.lines):
            counts[line] = self._tokens(line) if self._is_short(line) else self.limits.token_limit
        self.bytes_to = summed(len(line.encode()) + 1 for line in self.lines)
        self.tokens_to = summed(counts[line] for line in self.lines)

    def chunks(self) -> Iterator[Chunk]:
        packer = Packer(self.lines, self.outline, self.bytes_to, self._fits, self.limits.max_bytes)
        waiting = packer.packed()[::-1]
        while waiting:
            first, last = waiting.pop()
            chunk = self._chunk(first, last)
            if self._holds(chunk.trail, chunk.text):
                yield chunk
            elif first == last:
                yield from self._pieces(first)
            else:
                middle = (first + last) // 2
                halves = packer.cut(first, middle) + packer.cut(middle + 1, last)
                waiting.extend(reversed(halves))

    def _chunk(self, first: int, last: int) -> Chunk:
        trail, _ = self._trail(first, last)
        text = "\n".join(self.lines[first : last + 1])
        return Chunk(text, trail, Lines(first=first + 1, last=last + 1))

    def _pieces(self, number: int) -> Iterator[Chunk]:
        """A line that is too long, cut at sentences or words."""
        line, (trail, trail_tokens) = self.lines[number], self._trail(number, number)
        room = self.limits.token_limit - self.limits.special - trail_tokens - 1  # its line end
        for first, last in self._cuts(line, trail, min(room, self.limits.max_bytes)):
            piece = line[first:last]
            text = piece.strip()
            begin = first + len(piece) - len(piece.lstrip())
            columns = (begin, begin + len(text))
            if text:
                place = Lines(first=number + 1, last=number + 1, columns=columns)
                yield Chunk(text, trail, place)

    def _cuts(self, line: str, trail: Trail, always: int) -> Iterator[tuple[int, int]]:
        """Ranges of characters that fit, end to end.

        The splitter sees a window at a time, because its cost grows with what it has yet to cut.
        It takes for granted that a text of no more bytes than its capacity fits, so that is what
        ``always`` does (no byte is two tokens), and a text's size says only whether it fits.
        """
        splitter = TextSplitter.from_callback(
            lambda piece: 1 if self._holds(trail, piece.strip()) else always + 1,
            always,
            trim=False,
        )
        start = 0
        while start < len(line):
            window = line[start : start + _WINDOW * self.limits.max_bytes]
            pieces = splitter.chunks(window)
            if start + len(window) < len(line):
                pieces = pieces[:-1]  # cut again together with what follows it
            for piece in pieces:
                yield start, start + len(piece)
                start += len(piece)

    def _fits(self, first: int, last: int) -> bool:
        size = self.bytes_to[last + 1] - self.bytes_to[first] - 1
        if size > self.limits.max_bytes:
            return False
        tokens = self.tokens_to[last + 1] - self.tokens_to[first]
        return tokens + self._trail(first, last)[1] + self.limits.special <= self.limits.token_limit

    def _holds(self, trail: Trail, text: str) -> bool:
        return self._size(trail, text) <= self.limits.token_limit

    def _size(self, trail: Trail, text: str) -> int:
        """Tokens of the embedded form; more than the limit for what has too many bytes."""
        if not self._is_short(text):
            return self.limits.token_limit + 1
        return self.limits.count_tokens(embedded_text(trail, text))

    def _is_short(self, text: str) -> bool:
        most = self.limits.max_bytes
        return len(text) <= most and len(text.encode()) <= most

    def _tokens(self, text: str) -> int:
        return self.limits.count_tokens(text) - self.limits.special

    def _trail(self, first: int, last: int) -> tuple[Trail, int]:
        """The trail of a chunk of these lines, within its share, and its tokens."""
        whole = self.outline.trail(first, last)
        if whole not in self.trails:
            self.trails[whole] = self._within_share(whole)
        return self.trails[whole]

    def _within_share(self, trail: Trail) -> tuple[Trail, int]:
        """Outer parts go first; a last part that is still too long is cut short."""
        share = min(TRAIL_TOKENS, self.limits.token_limit // 4)
        while trail and (tokens := self._tokens(TRAIL_SEPARATOR.join(trail))) > share:
            name = trail[-1]
            short = f"{name[: len(name) // 2]}…" if len(name) > len("x…") else ""
            trail = trail[1:] or ((short,) if short else ())
        return (trail, tokens) if trail else ((), 0)
