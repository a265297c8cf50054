"""Runs a flow from the command line, on this machine: look first, load Prefect only for work."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import click

from flows.display import displayed, report
from flows.report import Outcome, SourcesFailed
from search.errors import HuginnError, TransientError
from search.settings import load_settings
from tasks.bootstrap import one_connection
from tasks.discover import Discovered, discover
from tasks.discover_rooms import RoomsFound, discover_rooms, listed_rooms
from tasks.domain.ranges import asked_range, text_of
from tasks.rebuild import Served, cancel, look
from tasks.settings import is_room, listed_names

FAILED = 1

Corpus = Literal["chat", "forge"]


class PrefectUnavailable(TransientError):
    """Prefect's API did not answer; what was acknowledged is kept."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"Prefect's API does not answer ({kind}). What was acknowledged is kept: run this "
            "again; with PREFECT_API_URL set, see whether that server is up."
        )


def run_refresh(*, corpus: Corpus | None, allow_mass_delete: bool, as_json: bool) -> int:
    """``huginn refresh``: with nothing new only freshness is written, and Prefect stays out."""
    settings = load_settings()
    with displayed(), one_connection(settings):
        usual = look(settings) == Served()
        found = _repositories(corpus) if usual else None
        rooms = _rooms(corpus) if usual else None
    if found and rooms and rooms.nothing_to_do and found.nothing_to_do:
        unchanged = [*rooms.unchanged, *found.unchanged]
        report([Outcome(source, "unchanged") for source in unchanged], as_json=as_json)
        return 0
    quieten()
    from flows.refresh import refresh

    return _run(
        lambda: refresh(corpus=corpus, allow_mass_delete=allow_mass_delete), as_json=as_json
    )


def run_rebuild(*, erase: bool, allow_mass_delete: bool, as_json: bool) -> int:
    """``huginn rebuild``."""
    quieten()
    from flows.rebuild import rebuild

    return _run(lambda: rebuild(erase=erase, allow_mass_delete=allow_mass_delete), as_json=as_json)


def run_cancel() -> int:
    """``huginn rebuild --cancel``."""
    with displayed():
        given_up = cancel(load_settings())
    click.echo(f"given up: {given_up.collection} is dropped, look-ups stay where they were")
    return 0


def _repositories(corpus: Corpus | None) -> Discovered:
    return Discovered() if corpus == "chat" else discover()


def _rooms(corpus: Corpus | None) -> RoomsFound | None:
    """None when it cannot be told: the flow will say what is wrong."""
    try:
        return RoomsFound() if corpus == "forge" else discover_rooms()
    except HuginnError:
        return None


def run_backfill(
    source: str | None,
    *,
    since: str | None = None,
    until: str | None = None,
    dry_run: bool = False,
    allow_mass_delete: bool,
    as_json: bool,
) -> int:
    """``huginn backfill``."""
    asked = asked_range(since, until)  # refused before anything is asked or started
    listed_names(source)
    if dry_run:
        from flows.planning import dry_backfill

        return dry_backfill(source, asked, as_json=as_json)
    if source is not None and is_room(source):
        with displayed():
            listed_rooms(source)
    quieten()
    from flows.backfill import backfill

    first, last = text_of(asked.first) or None, text_of(asked.last) or None
    return _run(
        lambda: backfill(source, since=first, until=last, allow_mass_delete=allow_mass_delete),
        as_json=as_json,
    )


def quieten() -> None:
    """The report names each failure; Prefect's stacks of the same would bury it."""
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")


def _run(flow: Callable[[], list[Outcome]], *, as_json: bool) -> int:
    try:
        with displayed(), prefect_told():
            outcomes = flow()
    except SourcesFailed as error:
        report(error.outcomes, as_json=as_json)
        return FAILED
    report(outcomes, as_json=as_json)
    return 0


@contextmanager
def prefect_told() -> Iterator[None]:
    """For the block, Prefect that does not answer is an error of ours (``PrefectUnavailable``)."""
    try:
        yield
    except Exception as error:
        if isinstance(error, HuginnError) or not _is_prefects(error):
            raise
        raise PrefectUnavailable(type(error).__name__) from None


def _is_prefects(error: BaseException) -> bool:
    """Whether it comes of talking to Prefect's API: the tasks let only our own errors out."""
    package = type(error).__module__.partition(".")[0]
    told = isinstance(error, RuntimeError) and str(error).startswith("Failed to reach API")
    return told or package in ("httpx", "httpcore", "prefect")
