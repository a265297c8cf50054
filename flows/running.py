"""Runs a flow from the command line, on this machine: look first, load Prefect only for work."""

import os
from collections.abc import Callable

from flows.display import displayed, report
from flows.report import Outcome, SourcesFailed
from tasks.discover import discover
from tasks.settings import listed_names

FAILED = 1


def run_refresh(*, allow_mass_delete: bool, as_json: bool) -> int:
    """``huginn refresh``: with nothing new only freshness is written, and Prefect stays out."""
    with displayed():
        found = discover()
    if found.nothing_to_do:
        report([Outcome(source, "unchanged") for source in found.unchanged], as_json=as_json)
        return 0
    _quieten()
    from flows.refresh import refresh

    return _run(lambda: refresh(allow_mass_delete=allow_mass_delete), as_json=as_json)


def run_backfill(source: str | None, *, allow_mass_delete: bool, as_json: bool) -> int:
    """``huginn backfill``."""
    listed_names(source)  # refused before Prefect starts anything
    _quieten()
    from flows.backfill import backfill

    return _run(lambda: backfill(source, allow_mass_delete=allow_mass_delete), as_json=as_json)


def _quieten() -> None:
    """The report names each failure; Prefect's stacks of the same would bury it."""
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")


def _run(flow: Callable[[], list[Outcome]], *, as_json: bool) -> int:
    try:
        with displayed():
            outcomes = flow()
    except SourcesFailed as error:
        report(error.outcomes, as_json=as_json)
        return FAILED
    report(outcomes, as_json=as_json)
    return 0
