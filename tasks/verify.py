"""``verify``: derives a source's passages anew and compares (spec 7.2).

::

    source ──► clean run, on a store that only records ──┐
                                                          ├─ by id: fingerprint, text, citation
    store  ──► what is held, read as objects ────────────┘   and every vector there?

The rule in one sentence: what differs is what the next run would leave different from a clean run.
``tasks.verify_repo`` and ``tasks.verify_room`` say how news is kept apart. Nothing is embedded, and
nothing is written but by ``mend`` (``tasks.verify_mend``). What belongs to no source is found by
``tasks.verify_survey``.
"""

from collections import Counter
from contextlib import AbstractContextManager

from search.connection import connect
from search.reader import Reader
from search.settings import load_settings
from tasks.domain.verification import MOST_NAMED, Finding, differences, is_miscounted
from tasks.errors import NeverRead, RoomRefused, SourceNotListed
from tasks.progress import listener
from tasks.settings import is_room, run_settings
from tasks.verify_chain import Sides
from tasks.verify_mend import delete_differing
from tasks.verify_repo import repo_sides
from tasks.verify_room import room_sides
from tasks.verify_snapshot import Snapshot, snapshot


def sources_named(source: str | None) -> list[str]:
    """Ids of the sources to verify: the one that is meant, or all that are held or listed.

    Raises:
        CollectionMissing: nothing was ever ingested.
        SourceNotListed: no such source is held or listed.
    """
    settings, _ = run_settings()
    with connect(settings, "writer", listener().say) as client:
        _, records = Reader(client, settings.weaviate.collection).standing()
    known = {*records, *(f"repo:{each.name}" for each in settings.repositories)}
    if source is None:
        return sorted(known)
    if is_room(source):
        wanted = source.removeprefix("chat:")
        meant = {each for each in records if wanted in (each[5:], records[each].alias)}
    else:
        meant = known & {f"repo:{source.removeprefix('repo:')}"}
    if not meant:
        raise SourceNotListed(source)
    return sorted(meant)


def live_model() -> str:
    """The model that the live collection was made with, "" if it is the one of the settings.

    While a rebuild to another model stands, the live one goes on with its own (spec 2.5).
    """
    settings = load_settings()
    with connect(settings, "writer", listener().say) as client:
        made = Reader(client, settings.weaviate.collection).resolve().meta
    return "" if made.embedder == settings.embedder.model else made.embedder


def verified(source: str, *, mend: bool = False, allow_mass_delete: bool = False) -> Finding:
    """What ``source`` holds against what it gives; ``mend`` readies what differs for a backfill.

    With ``mend`` the caller holds the source (``tasks.alone``): whatever differs is deleted, and
    the cursor vouches for nothing until a run from the start has brought it back.

    Raises:
        HuginnError: it could not be compared.
        TooManyDeletes: to mend it, most of it would be deleted (spec 2.7); nothing was.
    """
    settings, has_list = run_settings()
    try:
        with snapshot(settings, source) as taken, _sides(source, taken) as sides:
            found = _compared(taken, sides)
            if mend and found.result == "different":
                delete_differing(settings, taken, sides, allowed=allow_mass_delete)
            return found
    except RoomRefused as refused:
        return Finding(source, "leaving", reason=f"it may not be read: {refused.reason}")
    except SourceNotListed:
        if not has_list:
            raise
        return Finding(source, "leaving", reason="it is no longer listed")


def cursor_ahead(source: str) -> list[str]:
    """Ids of passages that the next run takes for held, and that are not held as they must be.

    None: no cursor is ahead of the passages, after whatever kill, before any other run. One of a
    source that no run has read stands for nothing.
    """
    settings, _ = run_settings()
    try:
        with snapshot(settings, source) as taken, _sides(source, taken) as sides:
            found = differences(sides.expected.prints(), sides.held.prints())
            return [identifier for identifier, kind in found if kind != "extra"]
    except NeverRead:
        return []


def _sides(source: str, taken: Snapshot) -> AbstractContextManager[Sides]:
    kind, _, name = source.partition(":")
    return (room_sides if kind == "chat" else repo_sides)(name, taken)


def _compared(taken: Snapshot, sides: Sides) -> Finding:
    kinds: Counter[str] = Counter()
    named: list[str] = []
    for identifier, kind in differences(sides.expected.prints(), sides.held.prints()):
        kinds[kind] += 1
        if len(named) < MOST_NAMED:
            named.append(identifier)
    record = taken.record
    if record.state == "current" and is_miscounted(record.passages, taken.count, taken.indexed):
        kinds["count"] = 1
    return Finding(
        source=record.source,
        result="different" if kinds else "same",
        passages=taken.count,
        differences=dict(kinds),
        ids=tuple(named),
        behind=sides.behind,
    )
