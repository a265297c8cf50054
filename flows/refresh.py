"""``refresh``: discover, one sub-flow per source, wait for all, report (spec 1.2)."""

from flows.repo import refresh_repo
from flows.report import Outcome, publish
from tasks.runtime import State, flow
from tasks.steps import discover_sources, reason_of, remove_source


@flow(name="refresh", persist_result=False)
def refresh(*, allow_mass_delete: bool = False) -> list[Outcome]:
    """Brings every listed source up to date and removes those no longer listed.

    A source that fails leaves its own cursor and the others' work alone; the run then ends
    failed, naming it (spec 5.5).

    Raises:
        SourcesFailed: names each source that failed.
    """
    found = discover_sources()
    outcomes = [Outcome(source, "unchanged") for source in found.unchanged]
    for name in found.repositories:
        state = refresh_repo(name, allow_mass_delete=allow_mass_delete, return_state=True)
        outcomes.append(outcome_of(f"repo:{name}", state))
    outcomes += [
        outcome_of(source, remove_one(source, return_state=True)) for source in found.unlisted
    ]
    return publish(outcomes)


@flow(name="remove-source", flow_run_name="remove:{source}", persist_result=False)
def remove_one(source: str) -> Outcome:
    """Removes one source that is no longer listed."""
    return Outcome(source, "removed", counts=remove_source(source))


def outcome_of(source: str, state: State[Outcome]) -> Outcome:
    """A source's outcome, or why there is none: whatever is not completed has failed."""
    try:
        return state.result()
    except Exception as error:  # noqa: BLE001  # reported by name, with the others
        return Outcome(source, "failed", reason=reason_of(error))
