"""Rebuilding: which collections a run serves, and when the new one takes the old one's place.

Spec 2.5. A refresh serves the live collection, then fills the one of a rebuild that stands, and
flips when nothing is lacking; so a rebuild that was killed goes on with the next refresh.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from search.collection import CollectionMeta
from search.errors import HuginnError
from search.settings import Settings
from tasks.adapters.collections import made_with, new_name
from tasks.adapters.ledger import WeaviateLedger
from tasks.adapters.rebuilds import Rebuilds
from tasks.aim import LIVE, Aim
from tasks.alone import rebuilding, switching
from tasks.bootstrap import connected, embedder_of, live_held, meta_of, open_store
from tasks.domain.rebuilds import Rebuild, lacking
from tasks.errors import NoRebuild, RebuildWaits
from tasks.ports import Ledger
from tasks.progress import listener
from tasks.room_records import purges_of, put_purge


@dataclass(frozen=True, slots=True)
class Served:
    """What a run serves. ``live`` None: nothing can be written there, only removed.

    ``rebuild`` is the one that stands, if one does.
    """

    live: Aim | None = LIVE
    rebuild: Rebuild | None = None


@dataclass(slots=True)
class _Open:
    settings: Settings
    rebuilds: Rebuilds
    live: str
    made: CollectionMeta
    wanted: CollectionMeta
    ledger: Callable[[str], Ledger]


def look(settings: Settings) -> Served:
    """What a run has to serve; a collection made otherwise begins a rebuild (spec 2.5)."""
    with _open(settings) as at:
        note = _current(at)
        differences = at.made.differences(at.wanted)
        if differences and note is None:
            note = _begin(at, f"it was made otherwise ({'; '.join(differences)})")
        return Served(_live_aim(at), note)


def begin(settings: Settings, *, erase: bool) -> Rebuild:
    """Notes that a rebuild is wanted and makes its collection; one that stands goes on.

    One that stands and does not erase is dropped for one that does.

    Raises:
        SourceBusy: another run is at work on it.
    """
    with rebuilding(), _open(settings) as at:
        note = _current(at)
        if note is not None and erase and not note.erase:
            at.rebuilds.end(note.collection)
            note = None
        if note is None:
            reason = "everything deleted is to be erased" if erase else "it was asked for"
            note = _begin(at, reason, wanted=True, erase=erase)
        return note


def cancel(settings: Settings) -> Rebuild:
    """Drops the new collection; the live one stays as it is.

    Raises:
        NoRebuild: none stands.
        SourceBusy: a run is at work on it.
    """
    with rebuilding(), _open(settings) as at:
        note = _current(at)
        if note is None:
            raise NoRebuild
        at.rebuilds.end(note.collection)
        return note


def aims(settings: Settings) -> list[Aim]:
    """Every collection that a purge has to reach."""
    with _open(settings) as at:
        note = at.rebuilds.note()
        return [LIVE] if note is None else [LIVE, Aim(note.collection)]


def share_purges(settings: Settings, collection: str) -> None:
    """Whatever is purged in the live collection is purged in the new one too (spec 2.5)."""
    with _open(settings) as at:
        new = at.ledger(collection)
        known = {purge.id for purge in purges_of(new)}
        for purge in purges_of(at.ledger(at.live)):
            if purge.id not in known:
                put_purge(new, replace(purge, applied=""))


def finish(settings: Settings, collection: str) -> None:
    """Puts the new collection in the old one's place, and drops that.

    Waits for runs on the old one to end: none may find half of its work on either side.

    Raises:
        RebuildWaits: the new one lacks sources that look-ups find now; nothing was changed.
    """
    with open_store(settings) as store, switching(settings, store.ledger), _open(settings) as at:
        note = _current(at)
        if note is None or note.collection != collection:
            return  # said twice: it has taken over already
        new, old = at.ledger(collection), at.ledger(at.live)
        missing = lacking(old.records(), new.records())
        if missing:
            raise RebuildWaits(missing)
        at.rebuilds.flip(note)
        at.rebuilds.end(at.live)


@contextmanager
def _open(settings: Settings) -> Iterator[_Open]:
    alias = settings.weaviate.collection
    with (
        connected(settings) as client,
        live_held(settings, client) as live,
    ):
        yield _Open(
            settings,
            Rebuilds(client, alias),
            live,
            made_with(client, alias, live),
            meta_of(settings),
            lambda name: WeaviateLedger(client, alias, name),
        )


def _begin(at: _Open, reason: str, *, wanted: bool = False, erase: bool = False) -> Rebuild:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    name = new_name(at.settings.weaviate.collection)
    note = Rebuild(name, at.live, reason, since, wanted, erase)
    at.rebuilds.begin(note, at.wanted)
    listener().say(f"rebuilding {at.live} as {name}: {reason}")
    return note


def _current(at: _Open) -> Rebuild | None:
    """The rebuild that stands, mended after a kill or a change of the settings meanwhile."""
    note = at.rebuilds.note()
    if note is None:
        return None
    if note.collection == at.live:  # killed between the switch and the end of the old one
        at.rebuilds.end(note.replaces)
        return None
    made = at.rebuilds.meta(note.collection)
    if made is None or not made.differences(at.wanted):
        at.rebuilds.begin(note, at.wanted)
        return note
    at.rebuilds.end(note.collection)
    if not note.wanted:
        return None
    return _begin(at, note.reason, wanted=True, erase=note.erase)


def _live_aim(at: _Open) -> Aim | None:
    """How the live collection can be written: with the model it was made with, or not at all."""
    if not at.made.differences(at.wanted):
        return LIVE
    reason = "it was made by another version of Huginn"
    same_form = replace(
        at.wanted, embedder_digest=at.made.embedder_digest, dimensions=at.made.dimensions
    )
    if not at.made.differences(same_form):
        aim = Aim(model=at.made.embedder)
        with suppress(HuginnError):
            identity = embedder_of(aim.applied(at.settings).embedder).identity
            if identity.digest == at.made.embedder_digest:
                return aim
        reason = f"its model {at.made.embedder} is not to be had any more"
    listener().say(f"{at.live} is only removed from until the rebuild is done: {reason}")
    return None
