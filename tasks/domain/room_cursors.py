"""How a room's cursor moves (drawn in ``search.ledger.RoomCursor``)."""

from dataclasses import replace
from datetime import UTC, datetime

from search.ledger import RoomCursor


def begun(
    cursor: RoomCursor,
    target: str,
    *,
    version: str,
    from_start: bool = False,
    covered: str | None = None,
    purges: tuple[str, ...] = (),
    now: datetime | None = None,
) -> RoomCursor:
    """The cursor of a run that knows the stream token ``target`` of this moment.

    A run that was cut short goes on where it stopped, by the same rules. Changed rules, a room
    never read, or ``from_start`` walk back through all of it; ``stream`` stays what it was until
    the walk has arrived, so that nothing is vouched for that is not held.

    ``covered`` is how far back the walk goes, None for as far as it did.
    """
    start = "" if from_start else cursor.covered if covered is None else covered
    same_rules = cursor.version == version
    if same_rules and cursor.phase and not from_start and start == cursor.covered:
        resumed = replace(cursor, again=True)
        new = tuple(purge for purge in purges if purge not in cursor.purges)
        return _with_purges(resumed, new) if new else resumed
    if not same_rules or cursor.stream is None or from_start:
        return RoomCursor(
            stream=None,
            event=cursor.event,
            version=version,
            phase="back",
            page=target,
            target=target,
            since=(now or datetime.now(UTC)).isoformat(),
            purges=purges,
            covered=start,
        )
    if purges:
        return replace(cursor, phase="sweep", page="", target=cursor.stream, purges=purges)
    return replace(cursor, phase="forward", page=cursor.stream, target=target)


def _with_purges(cursor: RoomCursor, new: tuple[str, ...]) -> RoomCursor:
    """A run cut short that has more to purge: it sweeps what is held before it goes forward."""
    purges = (*cursor.purges, *new)
    if cursor.phase == "back":  # the sweep is still to come
        return replace(cursor, purges=purges)
    # From ``stream`` on everything is read again: a page's token may lie behind what was swept.
    target = cursor.stream if cursor.phase == "forward" else cursor.target
    return replace(cursor, phase="sweep", page="", target=target, purges=purges)


def walked_back(cursor: RoomCursor) -> RoomCursor:
    """The start of the room was reached: what the walk did not write again is looked at next."""
    return replace(cursor, phase="sweep", page="")


def swept(cursor: RoomCursor) -> RoomCursor:
    """Nothing older is left: the way forward begins where the walk began."""
    assert cursor.target is not None, "a sweep has a target"  # noqa: S101  # begun() sets it
    return RoomCursor(
        stream=cursor.target,
        event=cursor.event,
        version=cursor.version,
        phase="forward",
        page=cursor.target,
        again=cursor.again,
        covered=cursor.covered,
    )


def arrived(cursor: RoomCursor) -> RoomCursor:
    """Every event up to the target was processed: that is what the collection holds.

    If the run was a resumed one its target is old: it goes on forward once more, to a new one.
    """
    assert cursor.target is not None, "a way forward has a target"  # noqa: S101  # upsert sets it
    if cursor.again:
        return replace(cursor, stream=cursor.target, page=cursor.target, target=None, again=False)
    return RoomCursor(
        stream=cursor.target, event=cursor.event, version=cursor.version, covered=cursor.covered
    )


def unheld(cursor: RoomCursor) -> RoomCursor:
    """No longer vouching for anything: the next run reads the room anew and sweeps (spec 2.3)."""
    return RoomCursor(event=cursor.event, covered=cursor.covered)
