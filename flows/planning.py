"""``--dry-run``: what a run would do, as lines or as one JSON document."""

import json
from collections.abc import Callable

import click

from flows.display import displayed
from search.presentation import printable
from tasks.domain.plans import Planned
from tasks.domain.ranges import Range, text_of
from tasks.plan import Plan, plan_refresh
from tasks.plan_backfill import plan_backfill

FAILED = 1

_WORDS = {
    "unchanged": "nothing to do",
    "new": "would be read for the first time",
    "news": "would be brought up to date",
    "reread": "would be gone through again",
    "range": "would be put right in the range",
    "remove": "would be removed",
    "unavailable": "cannot be looked at",
}


def dry_refresh(*, corpus: str | None, as_json: bool) -> int:
    """``huginn refresh --dry-run``; 1 if something could not be looked at."""
    return _shown("refresh", Range(), lambda: plan_refresh(corpus), as_json=as_json)


def dry_backfill(source: str | None, asked: Range, *, as_json: bool) -> int:
    """``huginn backfill --dry-run``; 1 if something could not be looked at."""
    return _shown("backfill", asked, lambda: plan_backfill(source, asked), as_json=as_json)


def _shown(command: str, asked: Range, look: Callable[[], Plan], *, as_json: bool) -> int:
    with displayed():
        plan = look()
    if as_json:
        document = {
            "schema": "huginn.plan/1",
            "command": command,
            "since": text_of(asked.first) or None,
            "until": text_of(asked.last) or None,
            "rebuild": plan.rebuild,
            "sources": [each.as_dict() for each in plan.sources],
        }
        click.echo(json.dumps(document, indent=2))
    else:
        for each in plan.sources:
            click.echo(printable(line(each), keep=""))
        if plan.rebuild:
            click.echo(printable(f"another collection would be filled: {plan.rebuild}", keep=""))
        click.echo(f"{len(plan.sources)} sources, nothing was written")
    return 0 if plan.is_whole else FAILED


def line(planned: Planned) -> str:
    """One source's line."""
    told = [_WORDS[planned.action]]
    if planned.action == "news" and planned.target:
        told.append(f"{(planned.held or 'nothing')[:12]} to {planned.target[:12]}")
        if planned.files is None:
            told.append("not fetched yet")
        else:
            told.append(f"{planned.files} files and {planned.commits} commits changed")
    elif planned.action == "new" and planned.target:
        told.append(f"at {planned.target[:12]}")
    elif planned.action == "range" and planned.commits is not None:
        told.append(f"{planned.commits} commits")
    if planned.passages is not None:
        told.append(f"{planned.passages} passages")
    why = f" ({planned.reason})" if planned.reason else ""
    return f"{planned.source}: {', '.join(told)}{why}"
