"""What a shared refresh makes of the runs that it ordered (spec 1.2, 2.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest

from flows import fan_out
from flows.fan_out import over_workers
from flows.report import Outcome
from tasks.domain.acknowledgement import Counts
from tasks.runs import Run


@dataclass
class Runs:
    """Stands for ``tasks.runs``: the runs of a source end one after the other as it is told."""

    ends: Mapping[str, list[str]]
    reports: Mapping[str, Outcome] = field(default_factory=dict)
    ordered: list[tuple[str, str]] = field(default_factory=list)
    options: list[Mapping[str, Any]] = field(default_factory=list)
    away: int = 0
    _sources: dict[UUID, str] = field(default_factory=dict)
    Run = Run

    def order(self, deployment: str, parameters: Mapping[str, Any]) -> UUID:
        name = parameters.get("room") or parameters["name"]
        self.ordered.append((deployment, name))
        self.options.append(parameters)
        run = uuid4()
        self._sources[run] = name
        return run

    def look(self, ids: Sequence[UUID]) -> dict[UUID, Run] | None:
        if self.away:
            self.away -= 1
            return None
        return {each: Run(self.ends[self._sources[each]].pop(0)) for each in ids}

    def left(self, run: UUID) -> dict[str, Any] | None:
        report = self.reports.get(self._sources[run])
        return report.as_dict() if report else None


def ended(
    monkeypatch: pytest.MonkeyPatch, ends: Mapping[str, list[str]], **reports: Outcome
) -> tuple[list[Outcome], Runs]:
    runs = Runs(ends, reports)
    monkeypatch.setattr(fan_out, "runs", runs)
    monkeypatch.setattr(fan_out, "_claims", list)
    sources = [f"repo:{name}" for name in ends]
    return over_workers(sources, {"into": ""}, sleep=lambda _: None), runs


DONE = Outcome("repo:one", "done", "abc", Counts(files=3, skipped={"binary": 1}))


def test_a_completed_runs_outcome_is_what_it_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {"one": ["SCHEDULED", "PENDING", "RUNNING", "COMPLETED"], "two": ["COMPLETED"]}
    two = Outcome("repo:two", "unchanged")
    outcomes, runs = ended(monkeypatch, ends, one=DONE, two=two)
    assert outcomes == [DONE, two]
    deployment = "refresh-repo/refresh-repo"
    assert runs.ordered == [(deployment, "one"), (deployment, "two")]
    assert runs.options[0] == {"name": "one", "into": ""}


def test_a_room_is_a_run_of_its_own_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs({"!a:b": ["FAILED"]})
    monkeypatch.setattr(fan_out, "runs", runs)
    monkeypatch.setattr(fan_out, "_claims", list)
    (outcome,) = over_workers(["chat:!a:b"], {}, sleep=lambda _: None)
    assert runs.ordered == [("refresh-room/refresh-room", "!a:b")]
    assert (outcome.source, outcome.result) == ("chat:!a:b", "failed")


def test_a_failed_run_tells_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "repo:one: gone. Mend it."
    left = Outcome("repo:one", "failed", reason=reason)
    (outcome,), runs = ended(monkeypatch, {"one": ["FAILED"]}, one=left)
    assert (outcome.result, outcome.reason) == ("failed", reason)
    assert len(runs.ordered) == 1


@pytest.mark.parametrize("kind", ["CANCELLED", "FAILED"])
def test_a_run_that_did_not_complete_has_failed_whatever_it_left(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (outcome,), _ = ended(monkeypatch, {"one": [kind]}, one=DONE)
    assert outcome.result == "failed"
    assert kind.lower() in (outcome.reason or "")


def test_a_run_that_left_nothing_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    (outcome,), _ = ended(monkeypatch, {"one": ["COMPLETED"]})
    assert outcome.result == "failed"


def test_p13_a_crashed_run_is_ordered_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    (outcome,), runs = ended(monkeypatch, {"one": ["CRASHED", "RUNNING", "COMPLETED"]}, one=DONE)
    assert outcome == DONE
    assert len(runs.ordered) == 2


def test_a_prefect_that_is_away_for_a_while_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs({"one": ["COMPLETED"]}, {"one": DONE}, away=3)
    monkeypatch.setattr(fan_out, "runs", runs)
    monkeypatch.setattr(fan_out, "_claims", list)
    assert over_workers(["repo:one"], {}, sleep=lambda _: None) == [DONE]


def test_a_run_that_crashes_again_and_again_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    (outcome,), runs = ended(monkeypatch, {"one": ["CRASHED"] * 9}, one=DONE)
    assert outcome.result == "failed"
    assert len(runs.ordered) == 3
