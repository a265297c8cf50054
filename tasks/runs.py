"""Runs of deployments in Prefect: ordered, looked at, given up, and what they left (spec 1.2)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx

from search.errors import PermanentError
from tasks import runtime  # noqa: F401  # sets Prefect's defaults before Prefect is imported

from prefect.artifacts import create_table_artifact  # isort: skip
from prefect.client.orchestration import SyncPrefectClient, get_client  # isort: skip
from prefect.client.schemas.filters import (  # isort: skip
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    ArtifactFilterKey,
    FlowRunFilter,
    FlowRunFilterId,
)
from prefect.context import FlowRunContext  # isort: skip
from prefect.deployments import run_deployment  # isort: skip
from prefect.exceptions import ObjectNotFound  # isort: skip
from prefect.states import Crashed  # isort: skip

REPORT_KEY = "huginn-source"
"""The artifact in which a source's run leaves its outcome: ids, counts, a reason."""

_PAGE = 100


class NotDeployed(PermanentError):
    """A deployment that the run needs is not with Prefect's API."""

    def __init__(self, deployment: str) -> None:
        super().__init__(
            f"Prefect knows no deployment {deployment}, which a run over several workers needs. "
            "Run `prefect deploy --all`, or run without fan_out."
        )


@dataclass(frozen=True, slots=True)
class Run:
    """A run as Prefect tells of it. ``state`` changes with every change of its state."""

    kind: str
    state: UUID | None = None

    @property
    def waits(self) -> bool:
        """Whether no worker has taken it yet."""
        return self.kind == "SCHEDULED"

    @property
    def is_final(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.kind in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


def order(deployment: str, parameters: Mapping[str, Any]) -> UUID:
    """Orders a run, as a sub-flow of the one at work; gives its id at once.

    Raises:
        NotDeployed: there is no such deployment.
    """
    try:
        ordered = run_deployment(deployment, parameters=dict(parameters), timeout=0)
    except ObjectNotFound:
        raise NotDeployed(deployment) from None
    return UUID(str(ordered.id))  # type: ignore[union-attr]  # it dispatches on being in a loop


def look(ids: Sequence[UUID]) -> dict[UUID, Run] | None:
    """How runs stand; one that was deleted counts as crashed. None while the API is away."""
    with suppress(httpx.TransportError):
        return _look(ids)
    return None


def _look(ids: Sequence[UUID]) -> dict[UUID, Run]:
    found = dict.fromkeys(ids, Run("CRASHED"))
    with _client() as client:
        for start in range(0, len(ids), _PAGE):
            wanted = FlowRunFilterId(any_=[*ids[start : start + _PAGE]])
            for each in client.read_flow_runs(flow_run_filter=FlowRunFilter(id=wanted)):
                if each.state is not None:
                    found[each.id] = Run(each.state.type.value, each.state.id)
    return found


def give_up(run: UUID, reason: str) -> None:
    """Tells Prefect that a run is dead, which frees what it holds there."""
    with _client() as client:
        client.set_flow_run_state(run, Crashed(message=reason), force=True)


def leave(facts: Mapping[str, Any]) -> None:
    """Leaves what became of a source with Prefect, if this is a deployment's run."""
    context = FlowRunContext.get()
    if context and context.flow_run and context.flow_run.deployment_id:
        create_table_artifact(
            table=[dict(facts)],
            key=REPORT_KEY,
            description="What became of one source: ids and counts.",
        )


def left(run: UUID) -> dict[str, Any] | None:
    """What a run left, None if nothing."""
    with _client() as client:
        found = client.read_artifacts(
            artifact_filter=ArtifactFilter(
                key=ArtifactFilterKey(any_=[REPORT_KEY]),
                flow_run_id=ArtifactFilterFlowRunId(any_=[run]),
            )
        )
    if not found:
        return None
    latest = max(found, key=lambda each: str(each.created))
    (row,) = json.loads(str(latest.data))
    return dict(row)


@contextmanager
def _client() -> Iterator[SyncPrefectClient]:
    with get_client(sync_client=True) as client:
        yield client
