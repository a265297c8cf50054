"""What narrows a look-up (spec 6.3). Pure, standard library only: checked before any call."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from search.errors import UsageError
from search.moments import moment
from search.passage import Corpus
from search.path_globs import Like, likes

CORPORA: tuple[Corpus, ...] = ("chat", "forge")
MAIN_TIMELINE = "main"
"""Asks for what is in no thread; stored as the thread "" (W27)."""

MOST_VALUES = 50


@dataclass(frozen=True, slots=True)
class Scope:
    """Filters that have to hold together; an empty one holds for all. Build it with ``scope``.

    ``corpus`` is also what the other filters imply: a path is of the forge, a sender of chat.
    ``rooms`` and ``repositories`` name places that add up, ``sources`` narrows further; they are
    names as given, made ids by ``search.sources``. Of ``paths``, ``senders`` and ``threads`` any
    one has to fit. ``since`` and ``until`` are UTC, both inclusive: a passage's span meets them.
    """

    corpus: Corpus | None = None
    sources: tuple[str, ...] = ()
    rooms: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    paths: tuple[Like, ...] = ()
    senders: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None


def scope(
    *,
    corpus: str | None = None,
    sources: Sequence[str] = (),
    rooms: Sequence[str] = (),
    repositories: Sequence[str] = (),
    paths: Sequence[str] = (),
    senders: Sequence[str] = (),
    threads: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    now: datetime | None = None,
) -> Scope:
    """The filters, checked.

    Raises:
        UsageError: names the field that is off.
    """
    now = now or datetime.now(UTC)
    if corpus is not None and corpus not in CORPORA:
        raise UsageError("corpus", f"{corpus!r} is unknown", "Give chat or forge.")
    lists = {
        "sources": sources,
        "room": rooms,
        "repo": repositories,
        "path": paths,
        "sender": senders,
        "thread": threads,
    }
    for field, values in lists.items():
        _check(field, values)
    start = None if since is None else moment("since", since, now=now)
    end = None if until is None else moment("until", until, now=now, end_of_day=True)
    if start and end and start > end:
        raise UsageError("since", "it is after until", "Give the earlier time to since.")
    return Scope(
        corpus=_implied(corpus, lists),
        sources=_once(sources),
        rooms=_once(rooms),
        repositories=_once(repositories),
        paths=tuple(like for glob in _once(paths) for like in likes("path", glob)),
        senders=_once(senders),
        threads=_once(["" if thread == MAIN_TIMELINE else thread for thread in threads]),
        since=start,
        until=end,
    )


def _check(field: str, values: Sequence[str]) -> None:
    if len(values) > MOST_VALUES:
        raise UsageError(field, f"{len(values)} given", f"Give at most {MOST_VALUES}.")
    for value in values:
        if not value.strip():
            raise UsageError(field, "it is blank", "Name one, or leave it out.")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UsageError(field, "it is not valid Unicode", "Give UTF-8 text.") from None


def _implied(corpus: Corpus | None, lists: dict[str, Sequence[str]]) -> Corpus | None:
    """The one corpus that all filters allow; what can find nothing is refused, not answered."""
    places: dict[str, Corpus] = {"room": "chat", "repo": "forge"}
    if lists["room"] and lists["repo"]:
        places = {}
    of_one: dict[str, Corpus] = {"sender": "chat", "thread": "chat", "path": "forge", **places}
    for field, only in of_one.items():
        if lists[field] and corpus not in {None, only}:
            fits = {"chat": "chat", "forge": "repositories"}[only]
            raise UsageError(
                field,
                f"only {fits} can have it, and the other filters leave {fits} out",
                f"Leave out {field}, or what contradicts it.",
            )
        corpus = only if lists[field] else corpus
    return corpus


def _once(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
