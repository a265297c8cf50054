"""Every look-up by its name: arguments in, one JSON document out (``huginn.search/1``).

The command line, the service, HTTP and MCP all go through ``answer``, so they refuse the same and
answer the same. The table below is where a look-up is added. This module and every request
builder load the standard library only; use cases and documents are imported when one is run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from search import more_requests as more
from search.arguments import Arguments, refuse_unknown, string, strings, whole
from search.errors import UsageError
from search.narrowing import FILTERS, filters
from search.query import DEFAULT_TOP_K, Query, query

if TYPE_CHECKING:
    from search.engine import Engine

SCHEMA = "huginn.search/1"

HIT, NONE, USAGE, UNAVAILABLE, STOPPED = 0, 1, 2, 3, 130
"""Exit codes (spec 6.5)."""

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """One look-up in three steps.

    ``request`` checks the arguments without any call and raises ``UsageError``. ``run`` is the use
    case. ``document`` gives the fields of the JSON document, among them ``exit`` (``exit_code``)
    and ``unavailable``; ``answer`` puts ``schema`` and ``command`` before them.
    """

    request: Callable[[Arguments], Any]
    run: Callable[[Any, "Engine"], Any]
    document: Callable[[Any], Document]


def check(command: str, arguments: Arguments) -> Any:
    """The checked request; nothing is called, nothing heavy is imported.

    Raises:
        UsageError: names the field that is off, or the command.
    """
    if command not in COMMANDS:
        raise UsageError("command", "there is no such look-up", f"Known: {', '.join(COMMANDS)}.")
    return COMMANDS[command].request(arguments)


def answer(command: str, arguments: Arguments, engine: "Engine") -> Document:
    """The JSON document of one look-up.

    Raises:
        UsageError: the arguments are off; a field is named.
        HuginnError: Weaviate, the collection or the model cannot be had; the text says what to do.
    """
    request = check(command, arguments)
    found = COMMANDS[command].run(request, engine)
    return {"schema": SCHEMA, "command": command, **COMMANDS[command].document(found)}


def exit_code(*, found: bool, unavailable: bool) -> int:
    """0 anything found; 1 nothing, and all is well; 3 nothing, and a source is unavailable."""
    if found:
        return HIT
    return UNAVAILABLE if unavailable else NONE


def _search_request(arguments: Arguments) -> Query:
    refuse_unknown(arguments, "texts", "top_k", "sort", "recency_half_life", *FILTERS)
    return query(
        strings(arguments, "texts"),
        top_k=whole(arguments, "top_k", DEFAULT_TOP_K),
        sort=string(arguments, "sort") or "score",
        half_life=string(arguments, "recency_half_life"),
        **filters(arguments),
    )


def _search(request: Query, engine: "Engine") -> Any:
    from search import lookups

    return engine.look_up(
        lambda reader: lookups.search(
            request, reader=reader, settings=engine.settings, embedder=engine.embedder
        )
    )


def _search_document(found: Any) -> Document:
    from search.documents import search_document

    return search_document(found)


def _document(name: str, module: str = "search.more_documents") -> Callable[[Any], Document]:
    def document(found: Any) -> Document:
        build: Callable[[Any], Document] = getattr(import_module(module), f"{name}_document")
        return build(found)

    return document


_STANDING = "search.standing_documents"

COMMANDS: Mapping[str, Command] = {
    "search": Command(_search_request, _search, _search_document),
    "recent": Command(more.recent_request, more.recent, _document("recent")),
    "thread": Command(more.thread_request, more.thread, _document("thread")),
    "themes": Command(more.themes_request, more.themes, _document("themes")),
    "get": Command(more.get_request, more.get, _document("get")),
    "sources": Command(more.sources_request, more.sources, _document("sources", _STANDING)),
    "doctor": Command(more.doctor_request, more.doctor, _document("doctor", _STANDING)),
}
