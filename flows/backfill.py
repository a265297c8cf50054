"""``backfill``: goes through sources again, or through a range of time of them (spec 1.3)."""

from flows.ranges import backfill_repo, backfill_room
from flows.refresh import outcome_of
from flows.repo import refresh_repo
from flows.report import Outcome, publish
from flows.room import refresh_room
from tasks.domain.ranges import Range, asked_range, text_of
from tasks.runtime import State, flow
from tasks.steps import listed_repositories, listed_rooms


@flow(name="backfill", persist_result=False)
def backfill(
    source: str | None = None,
    *,
    since: str | None = None,
    until: str | None = None,
    allow_mass_delete: bool = False,
) -> list[Outcome]:
    """Reads one source (``repo:<name>``, ``chat:<room id>``), or all of them, again.

    With ``since`` or ``until`` (see ``search.moments``; both included) what is stored of that time
    is put right and no cursor is moved; a room that was never read is then read back to ``since``
    only. Without, everything is read from the start, whatever a cursor says.

    What is stored already and right is left alone, and no text is embedded twice. A run over one
    source never removes others.

    Raises:
        UsageError: a bound is no time, is in the future, or they are the wrong way round.
        SourceNotListed: no such source is listed.
        SourcesFailed: names each source that failed.
    """
    asked = asked_range(since, until)
    outcomes = []
    for room in listed_rooms(source):
        done = _room(room, asked, allow_mass_delete=allow_mass_delete)
        outcomes.append(outcome_of(f"chat:{room}", done))
    for name in listed_repositories(source):
        state = _repository(name, asked, allow_mass_delete=allow_mass_delete)
        outcomes.append(outcome_of(f"repo:{name}", state))
    return publish(outcomes)


def _room(room: str, asked: Range, *, allow_mass_delete: bool) -> State[Outcome]:
    if asked == Range():
        return refresh_room(
            room, from_start=True, allow_mass_delete=allow_mass_delete, return_state=True
        )
    bounds = text_of(asked.first), text_of(asked.last)
    return backfill_room(room, *bounds, allow_mass_delete=allow_mass_delete, return_state=True)


def _repository(name: str, asked: Range, *, allow_mass_delete: bool) -> State[Outcome]:
    if asked == Range():
        return refresh_repo(
            name, from_start=True, allow_mass_delete=allow_mass_delete, return_state=True
        )
    bounds = text_of(asked.first), text_of(asked.last)
    return backfill_repo(name, *bounds, allow_mass_delete=allow_mass_delete, return_state=True)
