"""``verify``: derives every source's passages anew and tells what differs (spec 7.2)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from flows.findings import failing, published
from flows.refresh import outcome_of
from flows.repo import refresh_repo
from flows.report import Outcome
from flows.room import refresh_room
from tasks.aim import Aim, aim, aimed
from tasks.alone import alone
from tasks.domain.verification import Finding, merged
from tasks.runtime import State, flow
from tasks.steps import listed_rooms, reason_of
from tasks.verify_steps import (
    expunge_hidden,
    live_model,
    remove_orphan,
    sources_named,
    survey_collection,
    verify_source,
)


@flow(name="verify", persist_result=False)
def verify(
    source: str | None = None, *, repair: bool = False, allow_mass_delete: bool = False
) -> list[Finding]:
    """Compares what the collection holds with what its sources give.

    One source, or all of them and whatever belongs to none. With ``repair`` what differs is
    deleted and read again from its source, and then verified again; without, nothing is written.

    Raises:
        SourceNotListed: no such source is held or listed.
        SourcesDiffer: names each source that differs or could not be verified.
    """
    with aimed(Aim(model=live_model())):
        return published(_findings(source, repair=repair, allowed=allow_mass_delete))


def _findings(source: str | None, *, repair: bool, allowed: bool) -> list[Finding]:
    sources = sources_named(source)
    surveyed = {each.source: each for each in ([] if source else survey_collection())}
    findings = []
    for each in sources:
        found = _verified(each, surveyed.get(each), mend=repair, allowed=allowed)
        if repair and found.result == "different":
            found = _repaired(found, allowed=allowed)
        findings.append(found)
    return findings + [
        _removed(orphan) if repair else orphan
        for name, orphan in surveyed.items()
        if name not in sources
    ]


def _verified(source: str, hidden: Finding | None, *, mend: bool, allowed: bool) -> Finding:
    def compare() -> State[Finding]:
        state: State[Finding] = verify_source(
            source, mend=mend, allow_mass_delete=allowed, return_state=True
        )
        if mend and hidden is not None and state.is_completed():
            expunge_hidden(source)
        return state

    return merged(_held(source, compare) if mend else _found(source, compare), hidden)


def _held(source: str, compare: Callable[[], State[Finding]]) -> Finding:
    """What came of it, with the source held meanwhile: no run may begin on what is mended."""

    def held() -> State[Finding]:
        with alone(source):
            return compare()

    return _found(source, held)


def _found(source: str, compare: Callable[[], State[Finding]]) -> Finding:
    """A source's finding, or why there is none: whatever is not compared is not verified."""
    try:
        return compare().result()
    except Exception as error:  # noqa: BLE001  # reported by name, with the others
        return failing(source, reason_of(error))


def _repaired(found: Finding, *, allowed: bool) -> Finding:
    """Goes through the source again, whose cursor is set aside, and verifies what came of it."""
    source = found.source
    done = _read_again(source, allowed=allowed)
    if done.result == "failed":
        return replace(found, result="unverified", reason=f"not mended: {done.reason}")
    again = _found(
        source,
        lambda: verify_source(source, mend=False, allow_mass_delete=False, return_state=True),
    )
    if again.result != "same":
        return again
    hidden = (
        {each.source: each for each in survey_collection()} if "hidden" in found.differences else {}
    )
    if source in hidden:
        return merged(again, hidden[source])
    return replace(again, result="mended", differences=found.differences, ids=found.ids)


def _read_again(source: str, *, allowed: bool) -> Outcome:
    kind, _, name = source.partition(":")
    if kind == "chat":
        try:
            listed_rooms(source)  # asks the homeserver how far it is, as a backfill does
        except Exception as error:  # noqa: BLE001  # reported by name, with the others
            return Outcome(source, "failed", reason=reason_of(error))
    one = refresh_room if kind == "chat" else refresh_repo
    state: State[Outcome] = one(
        name, allow_mass_delete=allowed, model=aim().model, return_state=True
    )
    return outcome_of(source, state)


def _removed(orphan: Finding) -> Finding:
    source = orphan.source
    try:
        with alone(source):
            expunge_hidden(source)
            remove_orphan(source)
    except Exception as error:  # noqa: BLE001  # reported by name, with the others
        return replace(orphan, result="unverified", reason=f"not mended: {reason_of(error)}")
    left: Sequence[Finding] = survey_collection()
    return next((each for each in left if each.source == source), replace(orphan, result="mended"))
