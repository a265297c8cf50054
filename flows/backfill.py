"""``backfill``: goes through sources from the start, whatever their cursors say (spec 1.3)."""

from flows.refresh import outcome_of
from flows.repo import refresh_repo
from flows.report import Outcome, publish
from flows.room import refresh_room
from tasks.runtime import flow
from tasks.steps import listed_repositories, listed_rooms


@flow(name="backfill", persist_result=False)
def backfill(source: str | None = None, *, allow_mass_delete: bool = False) -> list[Outcome]:
    """Reads one source (``repo:<name>``, ``chat:<room id>``), or all of them, from the start.

    What is stored already and right is left alone, and no text is embedded twice. A run over one
    source never removes others.

    Raises:
        SourceNotListed: no such source is listed.
        SourcesFailed: names each source that failed.
    """
    outcomes = []
    for room in listed_rooms(source):
        done = refresh_room(
            room, from_start=True, allow_mass_delete=allow_mass_delete, return_state=True
        )
        outcomes.append(outcome_of(f"chat:{room}", done))
    for name in listed_repositories(source):
        state = refresh_repo(
            name, from_start=True, allow_mass_delete=allow_mass_delete, return_state=True
        )
        outcomes.append(outcome_of(f"repo:{name}", state))
    return publish(outcomes)
