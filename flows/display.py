"""What the operator sees of a run: progress on a terminal, plain lines elsewhere, the report."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from flows.report import Outcome
from search.presentation import printable
from tasks.progress import Silence, listen

LINE_SECONDS = 30.0
RATE_SECONDS = 600.0
"""The time that is left goes by the rate of the last so many seconds: steps are far apart."""


class Display:
    """Listens to the work. Prefect's threads call it; rich's progress is thread-safe.

    Where there is no terminal, a line every ``LINE_SECONDS`` takes the place of the bars.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[str, TaskID] = {}
        self._said = time.monotonic()

    def say(self, message: str) -> None:
        """A line above the bars."""
        self._progress.console.print(
            message, markup=False, emoji=False, highlight=False, soft_wrap=True
        )

    def expect(self, source: str, total: int | None) -> None:
        """A bar of its own per source."""
        if source in self._bars:
            self._progress.reset(self._bars[source], total=total)
        else:
            self._bars[source] = self._progress.add_task(source, total=total)

    def advance(self, source: str, done: float) -> None:
        """The share that is behind it."""
        if source not in self._bars:
            return
        self._progress.advance(self._bars[source], done)
        if self._progress.disable and time.monotonic() - self._said >= LINE_SECONDS:
            self._said = time.monotonic()
            bar = self._progress.tasks[self._bars[source]]
            if bar.total is None:
                self.say(f"{source}: {bar.completed:.0f} events read")
            else:
                self.say(f"{source}: {bar.percentage:.0f} % done{_left(bar.time_remaining)}")


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f", about {max(round(seconds / 60), 1)} min left"


@contextmanager
def displayed() -> Iterator[Display]:
    """Shows progress on standard error for as long as it is open."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(
        *columns,
        console=console,
        disable=not console.is_terminal,
        speed_estimate_period=RATE_SECONDS,
    ) as progress:
        display = Display(progress)
        listen(display)
        try:
            yield display
        finally:
            listen(Silence())


def report(outcomes: Sequence[Outcome], *, as_json: bool) -> None:
    """The run's report: one line per source, or one JSON document."""
    if as_json:
        document = {"schema": "huginn.run/1", "sources": [each.as_dict() for each in outcomes]}
        click.echo(json.dumps(document, indent=2))
        return
    for outcome in outcomes:
        click.echo(printable(_line(outcome)))
        counts = outcome.counts
        for word, numbers in (("skipped", counts.skipped), ("scrubbed", counts.scrubbed)):
            if numbers:
                told = ", ".join(f"{key} {value}" for key, value in numbers.items())
                click.echo(f"    {word}: {told}")
    embedded = sum(outcome.counts.embedded for outcome in outcomes)
    click.echo(f"{len(outcomes)} sources, {embedded} texts embedded")


def _line(outcome: Outcome) -> str:
    counts = outcome.counts
    if outcome.result == "failed":
        return f"{outcome.source}: failed: {outcome.reason}"
    if outcome.result == "unchanged":
        return f"{outcome.source}: unchanged"
    if outcome.result == "removed":
        why = f" ({outcome.reason})" if outcome.reason else ""
        return f"{outcome.source}: removed, {counts.deleted} passages deleted{why}"
    if outcome.source.startswith("chat:"):
        return (
            f"{outcome.source}: {counts.events} events read, {counts.written} passages written, "
            f"{counts.unchanged} unchanged, {counts.deleted} deleted, {counts.embedded} embedded"
        )
    return (
        f"{outcome.source}: at {(outcome.target or '')[:12]}, {counts.files} files "
        f"({counts.indexed} indexed) and {counts.commits} commits looked at, "
        f"{counts.written} passages written, {counts.unchanged} unchanged, "
        f"{counts.deleted} deleted, {counts.embedded} embedded"
    )
