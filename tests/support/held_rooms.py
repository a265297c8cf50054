"""What a community holds of its rooms, as plain words."""

from datetime import UTC, datetime, timedelta

from search.collection import turns_of
from search.ledger import Journal
from tests.support.community import Community

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def at(minutes: float) -> datetime:
    """A moment of the talk."""
    return START + timedelta(minutes=minutes)


def bodies(community: Community, source: str | None = None) -> list[str]:
    """Every body that is held, in the order of rooms, threads and time."""
    found = []
    for facts in community.passages(source).values():
        for number, turn in enumerate(turns_of(facts)):
            found.append((facts["source"], facts["thread"], facts["start"], number, turn.body))
    return [body for *_, body in sorted(found)]


def journal(community: Community) -> Journal:
    """What the last run found of the reader's rooms."""
    from tasks.bootstrap import open_store
    from tasks.room_records import journal_of

    with community.configured() as settings, open_store(settings) as store:
        found = journal_of(store.ledger)
    assert found is not None
    return found


def reasons(community: Community) -> dict[str, str]:
    """Why each room was left out in the last run, by id."""
    return {each.room: each.reason for each in journal(community).entries if not each.admitted}
