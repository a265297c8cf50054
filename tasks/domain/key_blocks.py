"""Private keys as blocks: BEGIN to END over many lines, on one line, or cut off (spec 4.2).

A block is found by its head and tail lines, so that a sentence between two keys stays. What stands
between them must be mostly key material, so that code and prose that only name the head stay too.
A block without its end, or without its head, goes as far as its lines look like key material.
Every part is read a fixed number of times: the time is linear in the text's length.
"""

import re
from collections.abc import Iterator

RULE = "private-key"
HEADS = ("private key", "secret key", "megolm session data", "private-lines")  # in lower case

_EDGE = re.compile(
    r"-{2,5} ?(?P<kind>BEGIN|END) [A-Z0-9 ]{0,60}?"
    r"(?:(?:PRIVATE|SECRET) KEY(?: BLOCK)?|MEGOLM SESSION DATA) ?-{2,5}"
    r"|\bPrivate-Lines: [0-9]{1,3}\b",
    re.IGNORECASE,
)
# A line of a key. It has a digit or sign early on, which tells it from a long word.
_LINE = r"(?=[A-Za-z]{0,80}[0-9+/])[A-Za-z0-9+/]{16,}+={0,2}"
_RUN = re.compile(_LINE)
# Between the lines of a pasted key: quote marks, a program's string marks, line breaks as \n.
_GAP = r"(?:[\s>|\"'`+,()#*;]|\\[nrt]){0,200}+"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|X-[A-Za-z-]{1,40}):[^\n]{0,200}+"
_BODY = re.compile(rf"(?:{_GAP}(?:{_HEADER}|{_LINE}))*+(?:{_GAP}[A-Za-z0-9+/]{{0,63}}={{1,2}})?")
_TOKEN = re.compile(r"\S++")
_MARKS = ">|\"'`+,()#*;"
_SHARE = 0.4  # of what is no blank between head and tail; quoted and split up, a key still has 0.7


def key_blocks(text: str) -> Iterator[tuple[int, int]]:
    """The character ranges of private keys in ``text``, in order, not overlapping."""
    edges = list(_EDGE.finditer(text))
    done = 0
    index = 0
    while index < len(edges):
        edge = edges[index]
        following = edges[index + 1] if index + 1 < len(edges) else None
        if _is_end(edge):
            start = _start_of_body(text, done, edge.start())
            if start is not None:
                yield start, edge.end()
            done = edge.end()
            index += 1
        elif following and _is_end(following) and _is_key(text[edge.end() : following.start()]):
            yield edge.start(), following.end()
            done = following.end()
            index += 2
        else:
            body = _BODY.match(text, edge.end())  # a head or tail ends it: it starts with a dash
            done = edge.end()
            if body and _has_material(body[0]):
                done = body.end()
                yield edge.start(), done
            index += 1


def _is_end(edge: re.Match[str]) -> bool:
    return (edge["kind"] or "").upper() == "END"


def _is_key(between: str) -> bool:
    """Whether what stands between a head and a tail is mostly base64."""
    runs = sum(len(run[0]) for run in _RUN.finditer(between))
    solid = sum(len(token[0]) for token in _TOKEN.finditer(between))
    return runs >= _SHARE * solid and _has_material(between)


def _has_material(body: str) -> bool:
    """Whether a run of base64 in it mixes cases and digits: ``AAAA…`` in a test is no key."""
    return any(
        any(map(str.isdigit, run[0]))
        + any(map(str.islower, run[0]))
        + any(map(str.isupper, run[0]))
        > 1
        for run in _RUN.finditer(body)
    )


def _start_of_body(text: str, first: int, end: int) -> int | None:
    """Where the key material that leads up to an END without a BEGIN starts, None if there is none.

    Looks back no further than ``first``, the end of what was handled before.
    """
    start: int | None = None
    for token in reversed(list(_TOKEN.finditer(text, first, end))):
        material = token[0].replace("\\n", "").strip(_MARKS)
        if not material:
            continue
        is_tail = start is None and re.fullmatch(r"=?[A-Za-z0-9+/]{1,63}={0,2}", material)
        if not (_RUN.fullmatch(material) or is_tail):
            break
        if _RUN.fullmatch(material):
            start = token.start()
    return start if start is not None and _has_material(text[start:end]) else None
