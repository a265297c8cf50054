"""What a backfill would do, without doing any of it; see ``tasks.plan``."""

from contextlib import closing
from dataclasses import replace

from search.errors import HuginnError
from search.ledger import SourceRecord
from search.listing import RepositorySettings
from tasks.adapters.repositories import GitRepository
from tasks.bootstrap import chat_version
from tasks.domain.plans import Planned
from tasks.domain.ranges import Range
from tasks.errors import SourceNotListed
from tasks.plan import Look, Plan, looking, repository, rooms
from tasks.settings import is_room, listed_names

START = "from its start"


def plan_backfill(source: str | None, asked: Range) -> Plan:
    """What ``backfill`` would do.

    Raises:
        SourceNotListed: no such source is listed, or no such room may be read.
        HuginnError: as for ``tasks.plan.plan_refresh``.
    """
    names = listed_names(source)
    planned: list[Planned] = []
    with looking() as at:
        if source is None or is_room(source):
            read = [each for each in rooms(at) if each.action != "remove"]
            meant = [each for each in read if source is None or _is_meant(at, each, source)]
            if source is not None and not meant:
                raise SourceNotListed(f"chat:{source.removeprefix('chat:')}")
            planned += [_room(at, each, asked) for each in meant]
        listed = [each for each in at.settings.repositories if each.name in names]
        planned += [_repository(at, each, asked) for each in listed]
        return Plan(tuple(planned), at.rebuild)


def _is_meant(at: Look, planned: Planned, source: str) -> bool:
    room, wanted = planned.source.removeprefix("chat:"), source.removeprefix("chat:")
    record = at.records.get(planned.source)
    return wanted in (room, record.alias if record else "") or planned.source == "chat"


def _room(at: Look, planned: Planned, asked: Range) -> Planned:
    source = planned.source
    if planned.action in ("new", "unavailable"):
        return planned
    if asked == Range():
        return Planned(source, "reread", START, passages=at.held(source))
    cursor = at.records[source].room
    if cursor.stream is None or cursor.version != chat_version(at.settings):
        return planned  # an ordinary run comes first
    windows = at.index.windows(source)
    many = sum(asked.meets(each.start, each.end) for each in windows)
    return Planned(source, "range", passages=many)


def _repository(at: Look, listed: RepositorySettings, asked: Range) -> Planned:
    planned = repository(at, listed)
    if planned.action in ("new", "unavailable"):
        return planned
    if asked == Range():
        again = replace(planned, action="reread", reason=START, files=None, commits=None)
        return replace(again, passages=at.held(listed.source))
    cursor = at.records.get(listed.source, SourceRecord(listed.source)).cursor
    if cursor.commit is None or cursor.targets or planned.action == "reread":
        return planned
    many = _commits(at, listed, cursor.commit, asked)
    return Planned(listed.source, "range", held=cursor.commit, target=cursor.commit, commits=many)


def _commits(at: Look, listed: RepositorySettings, held: str, asked: Range) -> int | None:
    folder = at.settings.cache_dir / "mirrors"
    try:
        with closing(GitRepository(listed, folder, at.settings.forge, keep=True)) as opened:
            messages = opened.commit_messages(opened.commit_ids([held], []))
            return sum(asked.holds(each.authored_at) for each in messages)
    except HuginnError:
        return None
