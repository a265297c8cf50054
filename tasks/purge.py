"""``chat-purge``: what a steward says is never to be held (spec 4.7)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from search.errors import UsageError
from search.moments import moment
from search.settings import Settings
from tasks import in_flight
from tasks.chat_ports import StoredWindow, WindowIndex
from tasks.commit import distrusted
from tasks.context import Store
from tasks.domain.acknowledgement import Acknowledgement, Confirmation
from tasks.domain.batches import batched
from tasks.domain.puppets import Puppets
from tasks.domain.purges import Purge
from tasks.ports import Ledger
from tasks.removal import remove
from tasks.room_records import forget_purge, purges_of, put_purge
from tasks.tombstones import in_force, said, taken_back

AT_ONCE = 100
NOT_WHOLE = (
    "passages were purged at once, and with them words that no purge covers: "
    "run `huginn refresh` to bring those back"
)
TAKEN_BACK = "a purge was taken back: run `huginn refresh` to read again what it covered"

_SHORTEST = len("2026-01-31T12:00:00Z")
_ROOM, _SENDER, _EVENT = (re.compile(rf"[{sigil}]\S{{1,254}}") for sigil in "!@$")


def purge_of(  # the command's options, each of its own name
    room: str,
    *,
    first: str | None = None,
    last: str | None = None,
    sender: str | None = None,
    event: str | None = None,
    everything: bool = False,
    puppets: Puppets | None = None,
) -> Purge:
    """The purge that the options mean; ``room`` is an id.

    Both bounds, or ``event``, or ``everything``: all of the room (or sender), also what will be
    said. An event is one message whenever it was: bounds beside it are checked and left out.

    Raises:
        UsageError: an option is off or missing; names it.
    """
    start, end = _bound("from", first), _bound("to", last)
    if start and end and start > end:
        raise UsageError("from", "it is after --to", "Give the earlier time to --from.")
    if event and (sender or everything):
        raise UsageError("event", "it says more than enough", "Leave --sender, --everything out.")
    if everything and (start or end):
        raise UsageError("everything", "it has no bounds", "Leave --from and --to out, or it.")
    for field, bound in (("from", start), ("to", end)):
        if bound is None and not event and not everything:
            raise UsageError(
                field, "it is missing", "Give --from and --to, or --event, or --everything."
            )
    _check("room", room, _ROOM, "Give a room id (!…) or an alias (#…) of a room that is held.")
    _check("sender", sender, _SENDER, "Give a user id like @ada:example.org.")
    _check("event", event, _EVENT, "Give the event's id, which begins with $.")
    if sender and (puppets or Puppets()).is_puppet(sender):
        # Its id would stand in the ledger, which holds none (spec 3.2).
        raise UsageError("sender", "it is a bridge's puppet", "Nothing of it is ever held.")
    if event:
        return Purge(room, event=event)
    return Purge(room, start, end, sender or "")


def _bound(field: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        if len(text.strip()) >= _SHORTEST:  # neither a date alone nor a span
            return moment(field, text, now=datetime.now(UTC))
    except UsageError:
        pass
    raise UsageError(
        field,
        f"{text!r} is no RFC 3339 time with a zone",
        "Give one like 2026-01-31T12:00:00Z or 2026-01-31T12:00:00+02:00.",
    )


def _check(field: str, value: str | None, form: re.Pattern[str], fix: str) -> None:
    if value is not None and not form.fullmatch(value):
        raise UsageError(field, f"{value!r} is none", fix)


def room_named(ledger: Ledger, named: str) -> str:
    """The id of a room by its id, with ``chat:`` before it or not, or by an alias that is held.

    Raises:
        UsageError: no room that is held has that alias, or several do.
    """
    wanted = named.removeprefix("chat:")
    if not wanted.startswith("#"):
        return wanted
    records = ledger.records().values()
    rooms = [each.source for each in records if each.alias.casefold() == wanted.casefold()]
    if len(rooms) == 1:
        return rooms[0].removeprefix("chat:")
    reason = f"{len(rooms)} rooms with the alias {wanted} are held"
    known = ", ".join(rooms) or "`huginn sources list` shows the rooms that are held"
    raise UsageError("room", reason, f"Give the room's id: {known}.")


def say(settings: Settings, store: Store, purge: Purge) -> None:
    """Notes the purge in both places, the file first; saying it again is harmless."""
    said(settings, purge)
    put_purge(store.ledger, purge)


def known_purges(settings: Settings, ledger: Ledger | None) -> list[Purge]:
    """All tombstones, by id; those that only the file has are still to be applied."""
    found = in_force(settings)
    found |= {purge.id: purge for purge in purges_of(ledger)} if ledger is not None else {}
    return [found[identifier] for identifier in sorted(found)]


def delete_now(store: Store, index: WindowIndex, purge: Purge) -> int:
    """Deletes every stored window that the purge may cover, and gives how many; hold the room.

    The cursor vouches for nothing before the first is deleted: a window holds other messages too,
    and the next run brings them back. It also goes through the room for the purge once more, which
    thus stays unapplied: a run on another machine may have been writing meanwhile.

    Raises:
        WritesNotAcknowledged: some are still there; say it again.
    """
    source = f"chat:{purge.room}"
    if purge == Purge(purge.room, applied=purge.applied):
        return remove(store, source).counts.deleted
    in_flight.undo(store, source)
    deleted = 0
    while batch := [*_covered(index, source, purge)]:
        if not deleted:
            _put_unheld(store, source)
        for some in batched(batch, AT_ONCE):
            record = store.ledger.record(source)
            confirmed = Confirmation.of(some, in_flight.delete(store, source, some))
            Acknowledgement(source, record.place, record.place, deletes=confirmed)
        deleted += len(batch)
    if deleted:
        record = store.ledger.record(source)
        store.ledger.put(replace(record, passages=store.writer.count(source)))
    return deleted


def _put_unheld(store: Store, source: str) -> None:
    record = store.ledger.record(source)
    store.ledger.put(replace(distrusted(record), state="deleting", reason=NOT_WHOLE))


def take_back(settings: Settings, store: Store, purge: Purge) -> bool:
    """Forgets a purge, and lets the next run read its room again; False if none is held.

    The file goes first: what it no longer has is not put back. Hold the room.
    """
    taken_back(settings, purge.id)
    forget_purge(store.ledger, purge)
    source = f"chat:{purge.room}"
    if source not in store.ledger.records():
        return False
    record = store.ledger.record(source)
    state = record.state if record.state == "deleting" else "refreshing"
    store.ledger.put(
        replace(distrusted(record), state=state, reason=TAKEN_BACK, last_attempt=datetime.now(UTC))
    )
    return True


def _covered(index: WindowIndex, source: str, purge: Purge) -> Iterator[str]:
    """Ids of windows to delete, as many as the store lists at once: ask until none is left."""
    if purge.event:
        yield from (each.id for each in index.holding(source, [purge.event]))
    elif purge.sender:
        yield from _with_sender(index, _meeting(index, source, purge), purge.sender)
    elif purge.first and purge.last:
        yield from (each.id for each in index.between(source, None, purge.first, purge.last))
    else:
        yield from (each.id for each in _meeting(index, source, purge))


def _meeting(index: WindowIndex, source: str, purge: Purge) -> Iterator[StoredWindow]:
    for each in index.windows(source):
        if purge.may_cover(each.start, each.end, each.events):
            yield each


def _with_sender(index: WindowIndex, windows: Iterable[StoredWindow], sender: str) -> Iterator[str]:
    """Those with a message of the sender, or whose messages the store does not show."""
    for some in batched(windows, AT_ONCE):
        of_others = {
            turn.event
            for turns, _ in index.held([each.id for each in some])
            for turn in turns
            if turn.sender != sender
        }
        yield from (each.id for each in some if not of_others.issuperset(each.events))
