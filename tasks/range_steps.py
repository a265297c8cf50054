"""The Prefect tasks of a backfill of a range; their parameters are names, times and flags."""

from tasks import ranges, repo_range, room_range
from tasks.bootstrap import open_repo, open_room, open_store
from tasks.domain.ranges import Range, time_of
from tasks.ranges import RangeAcknowledgement
from tasks.runtime import effect
from tasks.settings import run_settings


@effect("begin-range:{room}")
def begin_room_range(room: str, since: str, until: str) -> bool:
    """Checks that a room may be read and notes the range; False: an ordinary run was begun."""
    with open_room(room) as context:
        return room_range.begin_range(context, Range(time_of(since), time_of(until)))


@effect("upsert-range:{room}")
def upsert_room_range(room: str, *, allow_mass_delete: bool) -> RangeAcknowledgement:
    """One step of a room's range."""
    with open_room(room) as context:
        return room_range.upsert_range(context, allow_mass_delete=allow_mass_delete)


@effect("begin-range:{name}")
def begin_repo_range(name: str, since: str, until: str) -> bool:
    """Notes the range of a repository; False: an ordinary run is due."""
    with open_repo(name) as context:
        return repo_range.begin_range(context, Range(time_of(since), time_of(until)))


@effect("upsert-range:{name}")
def upsert_repo_range(name: str, *, allow_mass_delete: bool) -> RangeAcknowledgement:
    """One step of a repository's range."""
    with open_repo(name) as context:
        return repo_range.upsert_range(context, allow_mass_delete=allow_mass_delete)


@effect("commit-range:{acknowledgement.source}")
def commit_range(acknowledgement: RangeAcknowledgement) -> bool:
    """Moves the range on; runs only on an acknowledgement. True: it is done."""
    settings, _ = run_settings()
    with open_store(settings) as store:
        ranges.commit_range(store, acknowledgement)
    return acknowledgement.finished
