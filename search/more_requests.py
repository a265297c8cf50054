"""Requests of the look-ups other than ``search``: arguments checked, use cases run.

Standard library only, as ``search.requests`` says; the rest is imported when one is run.
"""

import re
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from search.arguments import Arguments, refuse_unknown, string, whole
from search.errors import UsageError
from search.moments import span
from search.narrowing import FILTERS, narrowed
from search.query import checked_limit
from search.scope import Scope

if TYPE_CHECKING:
    from search.engine import Engine

DEFAULT_RECENT, MAX_RECENT = 20, 100
DEFAULT_GAP = "1h"
DEFAULT_TURNS, MAX_TURNS = 200, 1_000
DEFAULT_NEIGHBOURS, MAX_NEIGHBOURS = 1, 20
MAX_THEMES = 30
_LONGEST_ID = 255
_OF_SOURCES = ("corpus", "sources", "room", "repo")


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Filters, and how many at most; None: as many as fit the data."""

    scope: Scope
    most: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadAsk:
    """A thread's root, any message's event id, or a window's passage id.

    ``gap`` is the longest pause within a session; at most ``limit`` messages are given.
    """

    id: str
    gap: timedelta = timedelta(hours=1)
    limit: int = DEFAULT_TURNS


@dataclass(frozen=True, slots=True)
class PassageAsk:
    """A passage's id, and how many neighbours on either side."""

    id: str
    neighbours: int = DEFAULT_NEIGHBOURS


def recent_request(arguments: Arguments) -> Narrowed:
    """``limit`` (1 to 100) and the filters but ``path``: a file has no time of its own."""
    refuse_unknown(arguments, "limit", *(name for name in FILTERS if name != "path"))
    limit = checked_limit(whole(arguments, "limit", DEFAULT_RECENT), "limit", MAX_RECENT)
    return Narrowed(narrowed(arguments), limit)


def themes_request(arguments: Arguments) -> Narrowed:
    """``count`` (1 to 30) and the filters."""
    refuse_unknown(arguments, "count", *FILTERS)
    count = whole(arguments, "count", 0)
    is_given = arguments.get("count") is not None
    return Narrowed(
        narrowed(arguments), checked_limit(count, "count", MAX_THEMES) if is_given else None
    )


def thread_request(arguments: Arguments) -> ThreadAsk:
    """``id``, ``gap`` (such as 1h) and ``limit`` (1 to 1,000)."""
    refuse_unknown(arguments, "id", "gap", "limit")
    identifier = _id(arguments)
    if not re.fullmatch(r"\$\S+", identifier):
        identifier = _passage_id(identifier, "Give an event id ($…) or the id of a hit.")
    return ThreadAsk(
        identifier,
        span("gap", string(arguments, "gap") or DEFAULT_GAP),
        checked_limit(whole(arguments, "limit", DEFAULT_TURNS), "limit", MAX_TURNS),
    )


def get_request(arguments: Arguments) -> PassageAsk:
    """``id`` and ``neighbours`` (0 to 20)."""
    refuse_unknown(arguments, "id", "neighbours")
    identifier = _passage_id(_id(arguments), "Give the id of a hit.")
    count = whole(arguments, "neighbours", DEFAULT_NEIGHBOURS)
    if count:
        checked_limit(count, "neighbours", MAX_NEIGHBOURS)
    return PassageAsk(identifier, count)


def sources_request(arguments: Arguments) -> Narrowed:
    """The filters that name sources."""
    refuse_unknown(arguments, *_OF_SOURCES)
    return Narrowed(narrowed(arguments))


def doctor_request(arguments: Arguments) -> None:
    """Nothing to say."""
    refuse_unknown(arguments)


def recent(request: Narrowed, engine: "Engine") -> Any:
    """The last messages and commits."""
    from search.recent import recent

    most = request.most or DEFAULT_RECENT
    return engine.look_up(
        lambda reader: recent(request.scope, most, reader=reader, settings=engine.settings)
    )


def thread(request: ThreadAsk, engine: "Engine") -> Any:
    """A thread or a session."""
    from search.threads import thread

    return engine.look_up(lambda reader: thread(request, reader=reader, settings=engine.settings))


def themes(request: Narrowed, engine: "Engine") -> Any:
    """Groups of passages."""
    from search.themes import themes

    return engine.look_up(
        lambda reader: themes(request.scope, request.most, reader=reader, settings=engine.settings)
    )


def get(request: PassageAsk, engine: "Engine") -> Any:
    """One passage with its neighbours."""
    from search.neighbours import get

    return engine.look_up(
        lambda reader: get(request.id, request.neighbours, reader=reader, settings=engine.settings)
    )


def sources(request: Narrowed, engine: "Engine") -> Any:
    """What there is."""
    from search.diagnosis import sources

    return engine.look_up(
        lambda reader: sources(request.scope, reader=reader, settings=engine.settings)
    )


def doctor(_: None, engine: "Engine") -> Any:
    """How everything stands; an answer also when Weaviate gives none."""
    from search.diagnosis import doctor, unreachable
    from search.errors import HuginnError

    try:
        return engine.look_up(
            lambda reader: doctor(reader=reader, settings=engine.settings, embedder=engine.embedder)
        )
    except HuginnError as error:
        return unreachable(error, engine.settings)


def _id(arguments: Arguments) -> str:
    given = (string(arguments, "id") or "").strip()
    if not given or len(given) > _LONGEST_ID:
        raise UsageError("id", "it is missing or too long", "Give the id of a hit.")
    return given


def _passage_id(given: str, fix: str) -> str:
    try:
        return str(uuid.UUID(given))
    except ValueError:
        raise UsageError("id", f"{given!r} is no id of a passage", fix) from None
