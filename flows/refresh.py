"""``refresh``: discover, one sub-flow per source, wait for all, report (spec 1.2)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from flows.fan_out import over_workers
from flows.filling import filled
from flows.repo import refresh_repo
from flows.report import Outcome, publish
from flows.room import refresh_room
from tasks.aim import LIVE, Aim, aim, aimed
from tasks.alone import alone
from tasks.discover_rooms import RoomsFound
from tasks.runtime import State, flow
from tasks.steps import (
    discover_sources,
    find_rooms,
    look_at_collections,
    mark_unavailable,
    reason_of,
    remove_source,
    settle_rooms,
)

Corpus = Literal["chat", "forge"]


@flow(name="refresh", persist_result=False)
def refresh(
    *, corpus: Corpus | None = None, fan_out: bool = False, allow_mass_delete: bool = False
) -> list[Outcome]:
    """Brings every listed source up to date and removes those no longer listed.

    With ``corpus`` it looks at the rooms only, or the repositories only, and leaves the others
    alone. With ``fan_out`` each source is a run of its own deployment, on whichever worker is
    free; without, all is done here.

    A source that fails leaves its own cursor and the others' work alone; the run then ends
    failed, naming it (spec 5.5).

    Raises:
        SourcesFailed: names each source that failed.
    """
    return publish(serve(corpus=corpus, fan_out=fan_out, allow_mass_delete=allow_mass_delete))


def serve(
    *, allow_mass_delete: bool, corpus: Corpus | None = None, fan_out: bool = False
) -> list[Outcome]:
    """Serves the live collection, then fills the one of a rebuild that stands (spec 2.5).

    A rebuild is of both corpora. A run over the rooms only, which come often, leaves it to others.
    """
    standing = look_at_collections()
    live = standing.live or LIVE
    outcomes = _pass(
        live,
        corpus=corpus,
        fan_out=fan_out,
        removals_only=standing.live is None,
        allow_mass_delete=allow_mass_delete,
    )
    if standing.rebuild is not None and corpus != "chat":
        outcomes += filled(
            standing.rebuild,
            lambda at: _pass(at, fan_out=fan_out, allow_mass_delete=allow_mass_delete),
        )
    return outcomes


def _pass(
    at: Aim,
    *,
    fan_out: bool,
    allow_mass_delete: bool,
    corpus: Corpus | None = None,
    removals_only: bool = False,
) -> list[Outcome]:
    """One go through all sources; only what has to go is done where nothing may be written."""
    outcomes = []
    with aimed(at):
        if corpus != "forge":
            outcomes += _rooms(
                fan_out=fan_out, allow_mass_delete=allow_mass_delete, removals_only=removals_only
            )
        if corpus != "chat":
            outcomes += _repositories(
                fan_out=fan_out, allow_mass_delete=allow_mass_delete, removals_only=removals_only
            )
    return outcomes


def _repositories(*, fan_out: bool, allow_mass_delete: bool, removals_only: bool) -> list[Outcome]:
    at = aim()
    found = discover_sources()
    outcomes = [Outcome(source, "unchanged") for source in found.unchanged]
    if not removals_only:
        due = [f"repo:{name}" for name in found.repositories]
        outcomes += _refreshed(due, fan_out=fan_out, allow_mass_delete=allow_mass_delete)
    return outcomes + [
        outcome_of(source, remove_one(source, into=at.collection, return_state=True))
        for source in found.unlisted
    ]


def _rooms(*, fan_out: bool, allow_mass_delete: bool, removals_only: bool) -> list[Outcome]:
    """The rooms; trouble with the homeserver leaves the repositories to go on."""
    at = aim()
    state = find_rooms(return_state=True)
    try:
        found: RoomsFound = state.result()
    except Exception as error:  # noqa: BLE001  # reported by name, with the others
        return [Outcome("chat", "failed", reason=reason_of(error))]
    outcomes = [Outcome(source, "unchanged") for source in found.unchanged]
    if not removals_only:
        due = [f"chat:{room}" for room in found.due]
        outcomes += _refreshed(due, fan_out=fan_out, allow_mass_delete=allow_mass_delete)
    for source, reason in found.gone.items():
        removed = outcome_of(source, remove_one(source, into=at.collection, return_state=True))
        outcomes.append(replace(removed, reason=removed.reason or reason))
    if found.unavailable:
        mark_unavailable(found.unavailable)
    for source, reason in found.unavailable.items():
        outcomes.append(Outcome(source, "failed", reason=reason))
    if found.reached is not None and not removals_only:
        settle_rooms(found.reached)
    return outcomes


def _refreshed(sources: Sequence[str], *, fan_out: bool, allow_mass_delete: bool) -> list[Outcome]:
    """A sub-flow for each, here or on whichever worker is free."""
    at = aim()
    options = {
        "allow_mass_delete": allow_mass_delete,
        "into": at.collection,
        "model": at.model,
    }
    if fan_out:
        return over_workers(sources, options)
    outcomes = []
    for source in sources:
        kind, _, name = source.partition(":")
        one = refresh_room if kind == "chat" else refresh_repo
        state: State[Outcome] = one(name, **options, return_state=True)
        outcomes.append(outcome_of(source, state))
    return outcomes


@flow(name="remove-source", flow_run_name="remove:{source}", persist_result=False)
def remove_one(source: str, *, into: str = "") -> Outcome:
    """Removes one source that is no longer listed, or a room that no longer qualifies."""
    with aimed(Aim(into)), alone(source):
        return Outcome(source, "removed", counts=remove_source(source))


def outcome_of(source: str, state: State[Outcome]) -> Outcome:
    """A source's outcome, or why there is none: whatever is not completed has failed."""
    try:
        return state.result()
    except Exception as error:  # noqa: BLE001  # reported by name, with the others
        return Outcome(source, "failed", reason=reason_of(error))
