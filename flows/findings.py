"""What ``verify`` found: for the terminal, for ``--json`` and as a Prefect artifact."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from search.errors import PermanentError
from search.presentation import printable
from tasks.domain.verification import Finding

ARTIFACT_KEY = "huginn-verify"


class SourcesDiffer(PermanentError):
    """One or more sources differ from what is held of them, or could not be verified."""

    def __init__(self, sources: Sequence[str], findings: Sequence[Finding]) -> None:
        super().__init__(
            f"{len(sources)} of {len(findings)} sources differ or could not be verified: "
            f"{', '.join(sources)}. `huginn verify --repair` mends what differs."
        )
        self.sources = tuple(sources)
        self.findings = tuple(findings)


def failing(source: str, reason: str) -> Finding:
    """Of a source that could not be compared."""
    return Finding(source, "unverified", reason=reason)


def published(findings: Sequence[Finding]) -> list[Finding]:
    """Leaves the report with Prefect, then fails the run if a source is not as it must be.

    Raises:
        SourcesDiffer: names each of them, and carries all findings.
    """
    from tasks.runtime import create_table_artifact

    create_table_artifact(
        table=[_row(each) for each in findings] or [{"source": "none"}],
        key=ARTIFACT_KEY,
        description="What is held of each source against what it gives: ids and counts.",
    )
    failed = [each.source for each in findings if each.failed]
    if failed:
        raise SourcesDiffer(failed, findings)
    return list(findings)


def report(findings: Sequence[Finding], *, as_json: bool) -> None:
    """One line per source, or one JSON document."""
    if as_json:
        document = {"schema": "huginn.verify/1", "sources": [asdict(each) for each in findings]}
        click.echo(json.dumps(document, indent=2))
        return
    for each in findings:
        click.echo(printable(_line(each)))
        if each.result == "different" and each.ids:
            click.echo(f"    {', '.join(each.ids)}")
    passages = sum(each.passages for each in findings)
    failed = sum(each.failed for each in findings)
    click.echo(f"{len(findings)} sources, {passages} passages, {failed} not as they must be")


def _line(found: Finding) -> str:
    if found.result in ("leaving", "unverified"):
        word = (
            "not verified" if found.result == "unverified" else "not verified, but on its way out"
        )
        return f"{found.source}: {word}: {found.reason}"
    behind = f" ({found.behind})" if found.behind else ""
    if found.result == "same":
        return f"{found.source}: {found.passages} passages, all as its source gives them{behind}"
    told = _told(found)
    if found.result == "mended":
        return f"{found.source}: mended: {told}; {found.passages} passages now{behind}"
    return f"{found.source}: differs: {told}, of {found.passages} passages{behind}"


def _told(found: Finding) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in sorted(found.differences.items()))


def _row(found: Finding) -> dict[str, Any]:
    return {
        "source": found.source,
        "result": found.result,
        "passages": found.passages,
        "differences": _told(found),
        "ids": ", ".join(found.ids),
        "behind": found.behind or "",
        "reason": found.reason or "",
    }
