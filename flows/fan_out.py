"""One sub-flow per source as runs of deployments, shared by several workers (spec 1.2, 2.6)."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flows.report import Outcome
from search.errors import HuginnError
from search.settings import load_settings
from tasks import runs
from tasks.bootstrap import open_store
from tasks.domain.leases import Claim
from tasks.domain.signs import Attempts, Signs
from tasks.lease import CLAIM

POLL_SECONDS = 3.0

DEPLOYMENTS = {
    "chat": ("refresh-room/refresh-room", "room"),
    "repo": ("refresh-repo/refresh-repo", "name"),
}
"""By the kind of a source: the deployment that refreshes one, and its parameter."""


@dataclass(slots=True)
class _Ordered:
    run: UUID
    signs: Signs


def over_workers(
    sources: Sequence[str],
    options: Mapping[str, Any],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Outcome]:
    """Has each source refreshed by whichever worker is free; waits for all (spec 1.2).

    The queue's limit bounds how many run at once. A run that crashed, or that gave no sign of life
    for the length of the lease, is ordered anew, so that another worker takes the source over.
    Whatever is not completed has failed.

    Raises:
        NotDeployed: the deployments are not with Prefect's API.
    """
    lease = load_settings().lease_seconds
    attempts = Attempts()
    outcomes: dict[str, Outcome] = {}
    held = _claims()
    at_work: dict[str, _Ordered] = {}

    def order(source: str) -> None:
        kind, _, name = source.partition(":")
        deployment, parameter = DEPLOYMENTS[kind]
        signs = Signs.of(time.monotonic, lease, _on(source, held or []))
        at_work[source] = _Ordered(runs.order(deployment, {parameter: name, **options}), signs)

    for source in sources:
        attempts.another(source)
        order(source)
    while at_work:
        sleep(POLL_SECONDS)
        seen = runs.look([each.run for each in at_work.values()])
        held = _claims()
        for source, ordered in [*at_work.items()]:
            if seen is None:
                ordered.signs.unseen()
                continue
            run = seen[ordered.run]
            if not run.is_final and _is_dead(source, ordered, run, held):
                runs.give_up(ordered.run, f"{source}: no sign of life; another run takes it over")
                _release(_on(source, held or []))
                run = runs.Run("CRASHED")
            if not run.is_final:
                continue
            del at_work[source]
            if run.kind == "CRASHED" and attempts.another(source):
                order(source)
            else:
                outcomes[source] = _outcome(source, run.kind, runs.left(ordered.run))
    return [outcomes[source] for source in sources]


def _is_dead(source: str, ordered: _Ordered, run: runs.Run, held: list[Claim] | None) -> bool:
    if run.waits or held is None:
        ordered.signs.unseen()
        return False
    return ordered.signs.is_dead(run.state, _on(source, held))


def _claims() -> list[Claim] | None:
    """None while the ledger cannot be asked."""
    with suppress(HuginnError), open_store(load_settings()) as store:
        return [Claim.from_json(each) for each in store.ledger.documents(CLAIM).values()]
    return None


def _release(dead: Sequence[Claim]) -> None:
    """Takes dead claims away, so that whoever takes over need not wait for the lease once more."""
    with suppress(HuginnError), open_store(load_settings()) as store:
        for claim in dead:
            store.ledger.forget_document(CLAIM, claim.key)


def _on(source: str, held: Sequence[Claim]) -> list[Claim]:
    return [each for each in held if each.source == source]


def _outcome(source: str, kind: str, left: Mapping[str, Any] | None) -> Outcome:
    """What its run left; only a completed run's word that it is done counts."""
    outcome = Outcome.from_dict(left) if left else None
    if outcome is not None and (kind == "COMPLETED" or outcome.result == "failed"):
        return outcome
    reason = f"its run ended {kind.lower()}; Prefect's log of it says more"
    return Outcome(source, "failed", reason=reason)
