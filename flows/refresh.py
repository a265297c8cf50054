"""``refresh``: discover, one sub-flow per source, wait for all, report (spec 1.2)."""

from dataclasses import replace

from flows.repo import refresh_repo
from flows.report import Outcome, publish
from flows.room import refresh_room
from tasks.alone import alone
from tasks.discover_rooms import RoomsFound
from tasks.runtime import State, flow
from tasks.steps import (
    discover_sources,
    find_rooms,
    mark_unavailable,
    reason_of,
    remove_source,
    settle_rooms,
)


@flow(name="refresh", persist_result=False)
def refresh(*, allow_mass_delete: bool = False) -> list[Outcome]:
    """Brings every listed source up to date and removes those no longer listed.

    A source that fails leaves its own cursor and the others' work alone; the run then ends
    failed, naming it (spec 5.5).

    Raises:
        SourcesFailed: names each source that failed.
    """
    outcomes = _rooms(allow_mass_delete=allow_mass_delete)
    found = discover_sources()
    outcomes += [Outcome(source, "unchanged") for source in found.unchanged]
    for name in found.repositories:
        state = refresh_repo(name, allow_mass_delete=allow_mass_delete, return_state=True)
        outcomes.append(outcome_of(f"repo:{name}", state))
    outcomes += [
        outcome_of(source, remove_one(source, return_state=True)) for source in found.unlisted
    ]
    return publish(outcomes)


def _rooms(*, allow_mass_delete: bool) -> list[Outcome]:
    """The rooms; trouble with the homeserver leaves the repositories to go on."""
    state = find_rooms(return_state=True)
    try:
        found: RoomsFound = state.result()
    except Exception as error:  # noqa: BLE001  # reported by name, with the others
        return [Outcome("chat", "failed", reason=reason_of(error))]
    outcomes = [Outcome(source, "unchanged") for source in found.unchanged]
    for room in found.due:
        done = refresh_room(room, allow_mass_delete=allow_mass_delete, return_state=True)
        outcomes.append(outcome_of(f"chat:{room}", done))
    for source, reason in found.gone.items():
        removed = outcome_of(source, remove_one(source, return_state=True))
        outcomes.append(replace(removed, reason=removed.reason or reason))
    if found.unavailable:
        mark_unavailable(found.unavailable)
    for source, reason in found.unavailable.items():
        outcomes.append(Outcome(source, "failed", reason=reason))
    if found.reached is not None:
        settle_rooms(found.reached)
    return outcomes


@flow(name="remove-source", flow_run_name="remove:{source}", persist_result=False)
def remove_one(source: str) -> Outcome:
    """Removes one source that is no longer listed, or a room that no longer qualifies."""
    with alone(source):
        return Outcome(source, "removed", counts=remove_source(source))


def outcome_of(source: str, state: State[Outcome]) -> Outcome:
    """A source's outcome, or why there is none: whatever is not completed has failed."""
    try:
        return state.result()
    except Exception as error:  # noqa: BLE001  # reported by name, with the others
        return Outcome(source, "failed", reason=reason_of(error))
