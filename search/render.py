"""Passages as lines for people: who, where, when, the text with the hit terms marked, citations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from search.terminal import Look, body, one_line

INDENT = "     "

Passage = Mapping[str, Any]


def passage(found: Passage, look: Look, *, mark: str, terms: Sequence[str] = ()) -> Iterator[str]:
    """One passage: place, who and when, its text, and where else the same text stands."""
    citation = found["citation"]
    yield f"{mark:>4} {look.link(look.bold(cited(found, citation)), citation['link'])}"
    about = one_line(*_about(found))
    if about:
        yield INDENT + look.dim(about)
    yield from _address(citation, look)
    yield INDENT + look.dim(one_line(f"id {found['id']}"))
    for text in _texts(found):
        yield from body(text, look, prefix=INDENT, terms=terms)
    for other in found.get("also", ()):
        yield f"{INDENT}also {look.link(cited(found, other), other['link'])}"


def entry(found: Passage, look: Look) -> Iterator[str]:
    """One message or commit of ``recent``."""
    citation = found["citation"]
    when = moment(found["at"]) if found["at"] else ""
    head = one_line(when, found["author"], found["label"], _unless_current(found))
    yield f"{look.bold(head)} {look.link(cited(found, citation), citation['link'])}"
    yield from _address(citation, look)
    yield from body(found["text"], look, prefix=INDENT)


def turn(said: Passage, look: Look, *, mark: str = "") -> Iterator[str]:
    """One message of a conversation."""
    head = one_line(said["turn"], moment(said["at"]), said["sender"], said["edited"] and "edited")
    yield f"{mark:>2} {look.link(look.bold(head), said['link'])}"
    yield from body(said["body"], look, prefix=INDENT)


def cited(found: Passage, citation: Mapping[str, Any]) -> str:
    """``repository path:first-last @ commit``, ``repository commit``, or the room, on one line."""
    if "room" in citation:
        thread = citation["thread"] and f"thread {citation['thread']}"
        return one_line(citation["alias"] or found.get("label") or citation["room"], thread)
    commit = (citation["commit"] or "?")[:12]
    if citation["path"] is None:
        return one_line(f"{citation['repository']} {commit}")
    lines = citation["lines"]
    place = citation["path"] + (f":{lines[0]}-{lines[1]}" if lines else "")
    return one_line(f"{citation['repository']} {place} @ {commit}")


def span(start: str | None, end: str | None) -> str:
    """From when to when, in UTC, the day of the end only if it is another."""
    if not start:
        return ""
    first, last = moment(start), moment(end or start)
    if last == first:
        return f"{first} UTC"
    return f"{first} – {last[11:] if last[:10] == first[:10] else last} UTC"


def moment(time: str) -> str:
    """An RFC 3339 time (in UTC, as documents have it) for people: ``2026-01-31 12:00``."""
    return time[:16].replace("T", " ")


def _about(found: Passage) -> Iterator[str]:
    yield found["label"] or ""
    yield ", ".join(found["authors"])
    yield span(found["start"], found["end"])
    yield " › ".join(found["trail"])  # as in what is embedded
    yield _unless_current(found)


def _unless_current(found: Passage) -> str:
    status = str(found["status"])
    return "" if status == "current" else status


def _address(citation: Mapping[str, Any], look: Look) -> Iterator[str]:
    """The link written out, where the terminal cannot carry it under the citation."""
    if citation["link"] and not look.links:
        yield INDENT + one_line(citation["link"])


def _texts(found: Passage) -> Iterator[str]:
    """A window's messages one by one, each with its time and sender; other texts as they are."""
    if not found["turns"]:
        yield found["text"]
    for said in found["turns"]:
        who = said["sender"].removeprefix("@").partition(":")[0]
        yield f"{said['at'][11:16]} {who}: {said['body']}"
