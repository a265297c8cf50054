"""Each look-up's document as lines for people: who, where, when, the passage, its citation."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from search.presentation import printable
from search.terminal import Document, Look, body, one_line

_INDENT = "     "


def as_text(document: Document, look: Look) -> Iterator[str]:
    """The lines of an answer, and after them what is unavailable."""
    yield from _RENDERERS[document["command"]](document, look)
    for missing in document.get("unavailable", ()):
        name = None if missing["source"] == "*" else missing["source"]
        said = f"{name}: {missing['reason']}" if name else missing["reason"]
        yield look.dim(printable(f"unavailable: {said}", keep=""))


def _search(document: Document, look: Look) -> Iterator[str]:
    for hit in document["hits"]:
        yield from passage(hit, look, mark=f"{hit['rank']:>3}.", terms=document["texts"])
        yield ""
    if not document["hits"]:
        yield "Nothing found."
    for text in document["clipped"]:
        said = "its end is too long for the model, keywords only"
        yield f"clipped: {said}: {printable(text, keep='')}"


def passage(
    hit: Mapping[str, Any], look: Look, *, mark: str, terms: Sequence[str] = ()
) -> Iterator[str]:
    """One passage: place, who and when, its text, and where else the same text stands."""
    citation = hit["citation"]
    yield f"{mark:>4} {look.link(look.bold(cited(hit, citation)), citation.get('link'))}"
    about = one_line(*_about(hit))
    if about:
        yield _INDENT + look.dim(about)
    if citation.get("link") and not look.links:
        yield _INDENT + printable(citation["link"], keep="")
    yield from body(hit["text"], look, prefix=_INDENT, terms=terms)
    for other in hit.get("also", ()):
        place = look.link(cited(hit, other), other.get("link"))
        yield f"{_INDENT}also {place}"


def cited(hit: Mapping[str, Any], citation: Mapping[str, Any]) -> str:
    """``repository path:first-last @ commit``, ``repository commit``, or the room's name."""
    if hit["corpus"] == "chat":
        return one_line(_room(hit, citation))
    commit = (citation["commit"] or "?")[:12]
    if citation["path"] is None:
        return one_line(f"{citation['repository']} {commit}")
    lines = citation["lines"]
    place = citation["path"] + (f":{lines[0]}-{lines[1]}" if lines else "")
    return one_line(f"{citation['repository']} {place} @ {commit}")


def _room(hit: Mapping[str, Any], citation: Mapping[str, Any]) -> str:
    named = citation.get("alias") or citation.get("name") or citation.get("room")
    return str(named or hit["source"].removeprefix("chat:"))


def _about(hit: Mapping[str, Any]) -> Iterator[str]:
    yield hit.get("label") or ""
    yield ", ".join(hit.get("authors") or ())
    yield span(hit.get("start"), hit.get("end"))
    yield " › ".join(hit.get("trail") or ())  # as in what is embedded
    yield hit["status"] if hit.get("status") not in (None, "current") else ""


def span(start: str | None, end: str | None) -> str:
    """From when to when, in UTC, the day of the end only if it is another."""
    if not start:
        return ""
    first = moment(start)
    last = moment(end) if end else first
    if last == first:
        return f"{first} UTC"
    return f"{first} – {last[11:] if last[:10] == first[:10] else last} UTC"


def moment(time: str) -> str:
    """An RFC 3339 time (in UTC, as documents have it) for people: ``2026-01-31 12:00``."""
    return time[:16].replace("T", " ")


_RENDERERS: dict[str, Callable[[Document, Look], Iterator[str]]] = {"search": _search}

ITEMS: dict[str, str] = {"search": "hits"}
"""Which list of a document ``--jsonl`` gives, one member a line."""
