"""Each look-up's document as lines for people, and as the list that ``--jsonl`` gives."""

from collections.abc import Callable, Iterator
from typing import Any

from search.render import INDENT, entry, moment, passage, span, turn
from search.terminal import Document, Look, one_line


def as_text(document: Document, look: Look) -> Iterator[str]:
    """The lines of an answer, and after them what is unavailable."""
    yield from _RENDERERS[document["command"]](document, look)
    for missing in document["unavailable"]:
        name = "" if missing["source"] == "*" else f"{missing['source']}: "
        yield look.dim(one_line(f"unavailable: {name}{missing['reason']}"))


def items(document: Document) -> list[Document]:
    """What ``--jsonl`` gives a line each."""
    if document["command"] == "thread":
        return document["conversation"]["turns"] if document["conversation"] else []
    if document["command"] == "get":
        return [*document["before"], document["passage"], *document["after"]] * bool(
            document["passage"]
        )
    found: list[Document] = document[_LISTS[document["command"]]]
    return found


_LISTS = {
    "search": "hits",
    "recent": "entries",
    "themes": "themes",
    "sources": "sources",
    "doctor": "sources",
}
_NOTHING = "Nothing found."


def _search(document: Document, look: Look) -> Iterator[str]:
    for hit in document["hits"]:
        yield from passage(hit, look, mark=f"{hit['rank']}.", terms=document["texts"])
        yield ""
    if not document["hits"]:
        yield _NOTHING
    for text in document["clipped"]:
        yield one_line(f"clipped: its end is too long for the model, keywords only: {text}")


def _recent(document: Document, look: Look) -> Iterator[str]:
    for found in document["entries"]:
        yield from entry(found, look)
        yield ""
    if not document["entries"]:
        yield _NOTHING


def _thread(document: Document, look: Look) -> Iterator[str]:
    talk = document["conversation"]
    if talk is None:
        yield _NOTHING
        return
    place = one_line(talk["alias"] or talk["name"], talk["label"], talk["kind"])
    yield f"{look.bold(place)}  {look.dim(span(talk['start'], talk['end']))}"
    if talk["more_before"]:
        yield look.dim("… more before")
    for said in talk["turns"]:
        yield from turn(said, look, mark=">" if said["event"] == talk["asked"] else "")
    if talk["more_after"]:
        yield look.dim("… more after")


def _themes(document: Document, look: Look) -> Iterator[str]:
    for number, theme in enumerate(document["themes"], start=1):
        yield f"{number:>3}. {look.bold(one_line(', '.join(theme['terms'])))}"
        where = ", ".join(f"{each['source']} {each['size']}" for each in theme["sources"])
        when = span(theme["start"], theme["end"])
        yield INDENT + look.dim(one_line(f"{theme['size']} passages", when, where))
        for found in theme["typical"]:
            yield from passage(found, look, mark="-", terms=theme["terms"])
        yield ""
    if not document["themes"]:
        yield _NOTHING
    elif document["sampled"] < document["total"]:
        yield f"{document['sampled']} of {document['total']} passages were looked at."


def _get(document: Document, look: Look) -> Iterator[str]:
    if document["passage"] is None:
        yield _NOTHING
        return
    for found in document["before"]:
        yield from passage(found, look, mark="")
        yield ""
    yield from passage(document["passage"], look, mark=">")
    yield ""
    for found in document["after"]:
        yield from passage(found, look, mark="")
        yield ""


def _sources(document: Document, look: Look) -> Iterator[str]:
    for found in document["sources"]:
        yield _source(found, look)
    if not document["sources"]:
        yield "No source is listed."


def _source(found: Document, look: Look) -> str:
    fresh = found["fresh_at"] and f"fresh {moment(found['fresh_at'])} UTC"
    name = found["name"] if found["name"] not in found["source"] else ""
    since = found["covered_since"] and f"covered since {moment(found['covered_since'])} UTC"
    held = f"{found['passages']} passages"
    about = one_line(found["label"], name, found["state"], held, since, fresh)
    return f"{look.bold(one_line(found['source']))}  {about}"


def _doctor(document: Document, look: Look) -> Iterator[str]:
    for problem in document["problems"]:
        yield one_line(f"problem: {problem}")
    if not document["problems"] and not document["unavailable"]:
        yield "Everything is well."
    server, collection, model = (document[name] for name in ("server", "collection", "model"))
    yield one_line(f"server: Weaviate {server['version']}" if server["ready"] else "server: none")
    yield one_line(f"collection: {collection['alias']}", collection["name"])
    digest = model["digest"] and model["digest"][:12]
    yield one_line(f"model: {model['name'] or model['configured']}", digest)
    for found in document["sources"]:
        yield _source(found, look)
        cursor = found["cursor"]
        held = cursor.get("commit") or cursor.get("event")
        attempt = found["last_attempt"] and f"last run {moment(found['last_attempt'])} UTC"
        yield INDENT + look.dim(one_line(f"cursor {held or 'none'}", cursor["phase"], attempt))
    for refused in (document["journal"] or {"refused": ()})["refused"]:
        yield one_line("refused", *_values(refused))


def _values(facts: Any) -> Iterator[str]:
    yield from (str(value) for value in facts.values() if isinstance(value, str))


_RENDERERS: dict[str, Callable[[Document, Look], Iterator[str]]] = {
    "search": _search,
    "recent": _recent,
    "thread": _thread,
    "themes": _themes,
    "get": _get,
    "sources": _sources,
    "doctor": _doctor,
}
