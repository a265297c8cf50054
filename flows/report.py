"""What a run did, as numbers: for the terminal, for ``--json`` and as a Prefect artifact."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, ParamSpec, Self

from search.errors import PermanentError
from tasks.domain.acknowledgement import Counts

Result = Literal["done", "unchanged", "removed", "failed"]

ARTIFACT_KEY = "huginn-run"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one source in one run: ids and numbers only (spec 7.3)."""

    source: str
    result: Result
    target: str | None = None
    counts: Counts = Counts()
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """From what ``as_dict`` gave."""
        return cls(**{**facts, "counts": Counts(**facts["counts"])})


class SourcesFailed(PermanentError):
    """One or more sources failed; the others are done (spec 5.5)."""

    def __init__(self, sources: Sequence[str], outcomes: Sequence[Outcome]) -> None:
        super().__init__(
            f"{len(sources)} of {len(outcomes)} sources failed: {', '.join(sources)}. The others "
            "are done; run `huginn refresh` again when the reason is mended."
        )
        self.sources = tuple(sources)
        self.outcomes = tuple(outcomes)


def publish(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Leaves the run's report with Prefect, then fails the run if a source failed.

    Raises:
        SourcesFailed: names each source that failed, and carries the outcomes.
    """
    from tasks.runtime import create_table_artifact

    create_table_artifact(
        table=[_row(outcome) for outcome in outcomes] or [{"source": "none"}],
        key=ARTIFACT_KEY,
        description="Sources of this run: ids and counts.",
    )
    failed = [outcome.source for outcome in outcomes if outcome.result == "failed"]
    if failed:
        raise SourcesFailed(failed, outcomes)
    return list(outcomes)


P = ParamSpec("P")


def reported(source: str) -> Callable[[Callable[P, Outcome]], Callable[P, Outcome]]:
    """Leaves a sub-flow's outcome with Prefect when it is a run of a deployment (spec 1.2).

    Results do not leave the machine that made them; whoever waits for the run on another one
    reads its outcome from there. ``source`` is the source's id, filled in with the first argument
    of the sub-flow.
    """

    def decorate(function: Callable[P, Outcome]) -> Callable[P, Outcome]:
        @functools.wraps(function)
        def wrapped(*arguments: P.args, **options: P.kwargs) -> Outcome:
            from tasks.runs import leave
            from tasks.steps import reason_of

            try:
                outcome = function(*arguments, **options)
            except Exception as error:
                name = next(iter([*arguments, *options.values()]))
                failed = Outcome(source.format(name), "failed", reason=reason_of(error))
                leave(failed.as_dict())
                raise
            leave(outcome.as_dict())
            return outcome

        return wrapped

    return decorate


def _row(outcome: Outcome) -> dict[str, Any]:
    counts = asdict(outcome.counts)
    for name in ("skipped", "scrubbed"):
        counts[name] = ", ".join(f"{key} {value}" for key, value in counts[name].items())
    head = {"source": outcome.source, "result": outcome.result, "commit": outcome.target or ""}
    return head | counts | {"reason": outcome.reason or ""}
