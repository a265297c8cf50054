"""Taking secrets out of text: found, merged, replaced by ``[scrubbed:<rule>]`` (spec 4.2).

    key: |                                 key: |
      -----BEGIN PRIVATE KEY-----            [scrubbed:private-key]
      MIGHAgEAMBMGByqG…              →     (an empty line)
      -----END PRIVATE KEY-----            (an empty line)

A secret's line breaks stay, behind the marker, so that the lines after it keep their numbers. A
marker is never taken out again, and a text is searched until nothing more is found, so that
scrubbing what was scrubbed changes nothing.
"""

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from tasks.domain import key_blocks, secret_values
from tasks.domain.secret_rules import RULES, lowered

REVISION = 1  # raise it when rules change in code, not in data: what was read is read again
MARKER = re.compile(r"\[scrubbed:[a-z0-9][a-z0-9.-]{0,62}\]")

_LINE_BREAKS = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_MAX_ROUNDS = 8  # one finds all but what stood in the way of something else; hostile text ends here
_MAX_VALUES = 256  # different secrets of one text that are looked for in the rest of it
_SHORTEST_ELSEWHERE = 8  # characters of a secret that is looked for there
_SHORTEST_ANYWHERE = 20  # of one that is taken out of the middle of a word as well


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` (exclusive) of a text, found by ``rule``.

    ``vague`` findings rest on entropy and a name nearby; another rule's name is shown if it covers
    the same place.
    """

    start: int
    end: int
    rule: str
    vague: bool = False


Finder = Callable[[str], Iterable[Span]]


def own_spans(text: str) -> Iterator[Span]:
    """What our own rules find in ``text``."""
    lower = lowered(text)
    if any(head in lower for head in key_blocks.HEADS):
        for start, end in key_blocks.key_blocks(text):
            yield Span(start, end, key_blocks.RULE)
    for rule in RULES:
        for start, end in rule.matches(text, lower):
            yield Span(start, end, rule.name)


def rules_digest(*parts: str) -> str:
    """A short digest over our rules and ``parts``: another one means that texts are read again."""
    rules = [
        (rule.name, rule.keywords, rule.pattern.pattern, rule.judge.__name__) for rule in RULES
    ]
    words = sorted(secret_values.WORDS)
    return hashlib.sha256(repr((REVISION, rules, words, parts)).encode()).hexdigest()[:16]


def places(text: str, full: str, value: str, lines: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Where a finding's ``value`` stands: wherever its match ``full`` does, else wherever itself.

    A value that is not in the text as it was reported (decoded, say) takes its ``lines`` with it
    (first and last, counted from 1): rather too much is lost than a secret kept.
    """
    within = full.find(value)
    needle, shift = (full, within) if within >= 0 and full in text else (value, 0)
    start = text.find(needle)
    if start < 0:
        ends = [match.end() for match in re.finditer("\n", text)]
        starts = [0, *ends]
        first, last = (max(1, min(line, len(starts))) for line in lines)
        yield starts[first - 1], [*ends, len(text)][last - 1]
    while start >= 0:
        yield start + shift, start + shift + len(value)
        start = text.find(needle, start + 1)


def scrub_together(texts: Sequence[str], find: Finder) -> list[tuple[str, Counter[str]]]:
    """Consecutive texts without their secrets, and per text how many markers were put by rule.

    A secret that goes on in the next text is taken out of all of them: the texts are searched
    joined by line breaks, and each on its own as well.
    """
    current = list(texts)
    counts: list[Counter[str]] = [Counter() for _ in texts]
    for _ in range(_MAX_ROUNDS):
        starts = list(accumulate((len(text) + 1 for text in current), initial=0))[:-1]
        joined = "\n".join(current)
        spans = list(find(joined))
        if len(current) > 1:
            for start, text in zip(starts, current, strict=True):
                spans += (
                    replace(span, start=span.start + start, end=span.end + start)
                    for span in find(text)
                )
        spans = _new([*spans, *_elsewhere(joined, spans)], joined)
        if not spans:
            break
        for index, of_text in _by_text(spans, starts, current).items():
            current[index], put = _replaced(current[index], of_text)
            counts[index] += put
    return list(zip(current, counts, strict=True))


def merged(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, overlapping ones as one: the longest that is not vague names it."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if not result or span.start >= result[-1].end:
            result.append(span)
            continue
        last = result[-1]
        name = max(last, span, key=lambda one: (one.rule != "", not one.vague, one.end - one.start))
        result[-1] = replace(name, start=last.start, end=max(last.end, span.end))
    return result


def _new(spans: Iterable[Span], text: str) -> list[Span]:
    """The spans merged, without those that only find again what a marker stands for."""
    markers = [Span(mark.start(), mark.end(), rule="") for mark in MARKER.finditer(text)]
    return [
        span
        for span in merged([*spans, *markers])
        if span.rule and _says_something(MARKER.sub("", text[span.start : span.end]))
    ]


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text))


def _elsewhere(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """The other places where a value that was found stands in the same text."""
    values: dict[str, Span] = {}
    for span in spans:
        value = text[span.start : span.end]
        if (
            len(value) >= _SHORTEST_ELSEWHERE
            and value not in values
            and not _LINE_BREAKS.search(value)
        ):
            values[value] = span
            if len(values) == _MAX_VALUES:
                break
    for value, span in values.items():
        anywhere = len(value) >= _SHORTEST_ANYWHERE or secret_values.is_random(value)
        if not anywhere and not secret_values.is_password(value, quoted=True, alone=True):
            continue  # a common word that is somebody's password somewhere stays a word elsewhere
        start = text.find(value)
        while start >= 0:
            end = start + len(value)
            if anywhere or not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
                yield replace(span, start=start, end=end)
            start = text.find(value, end)


def _by_text(
    spans: Iterable[Span], starts: Sequence[int], texts: Sequence[str]
) -> dict[int, list[Span]]:
    """The spans of the joined texts cut at their borders, by text, with places inside it."""
    result: dict[int, list[Span]] = {}
    for span in spans:
        index = bisect_right(starts, span.start) - 1
        while index < len(texts) and starts[index] < span.end:
            start = max(0, span.start - starts[index])
            end = min(len(texts[index]), span.end - starts[index])
            if start < end:
                result.setdefault(index, []).append(replace(span, start=start, end=end))
            index += 1
    return result


def _replaced(text: str, spans: Iterable[Span]) -> tuple[str, Counter[str]]:
    """The text with a marker and its line breaks in each span's place; spans are in order."""
    parts: list[str] = []
    put: Counter[str] = Counter()
    done = 0
    for span in spans:
        secret = text[span.start : span.end]
        parts.append(text[done : span.start])
        if _says_something(secret):
            parts.append(f"[scrubbed:{span.rule}]")
            put[span.rule] += 1
        parts += _LINE_BREAKS.findall(secret)
        done = span.end
    return "".join([*parts, text[done:]]), put
