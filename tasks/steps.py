"""The Prefect tasks: thin wrappers around plain functions. Their parameters are names and flags."""

from search.errors import HuginnError
from search.settings import load_settings
from tasks import commit, discover, discover_rooms, rebuild, removal, repos, rooms
from tasks.adapters.git_mirror import forget_mirrors
from tasks.bootstrap import open_repo, open_room, open_store, room_admission_version
from tasks.domain.acknowledgement import Acknowledgement, Counts
from tasks.room_records import note_refused
from tasks.runtime import effect
from tasks.settings import listed_names, run_settings


@effect("look")
def look_at_collections() -> rebuild.Served:
    """Which collections a run serves; one that was made otherwise begins a rebuild."""
    return rebuild.look(load_settings())


@effect("begin-rebuild")
def begin_rebuild(*, erase: bool) -> None:
    """Notes that a rebuild is wanted."""
    rebuild.begin(load_settings(), erase=erase)


@effect("share-purges:{collection}")
def share_purges(collection: str) -> None:
    """What is purged in the live collection is purged in the one that a rebuild fills."""
    rebuild.share_purges(load_settings(), collection)


@effect("finish:{collection}")
def finish_rebuild(collection: str) -> None:
    """Puts the collection in the old one's place, unless it lacks something."""
    rebuild.finish(load_settings(), collection)


@effect("discover")
def discover_sources() -> discover.Discovered:
    """Which sources have news."""
    return discover.discover()


@effect("listed")
def listed_repositories(source: str | None) -> list[str]:
    """Names of the listed repositories, or of the one that ``source`` means."""
    return listed_names(source)


@effect("listed-rooms")
def listed_rooms(source: str | None) -> list[str]:
    """Ids of the rooms that are read, or of the one that ``source`` means."""
    return discover_rooms.listed_rooms(source)


@effect("begin:{name}")
def begin_repo(name: str, *, from_start: bool) -> repos.Begun:
    """Fetches a repository and notes in the ledger where the run goes."""
    with open_repo(name) as context:
        return repos.begin(context, from_start=from_start)


@effect("upsert:{name}")
def upsert_repo(name: str, *, allow_mass_delete: bool) -> Acknowledgement:
    """One step of a repository; gives what the store acknowledged."""
    with open_repo(name) as context:
        return repos.upsert(context, allow_mass_delete=allow_mass_delete)


@effect("discover-rooms")
def find_rooms() -> discover_rooms.RoomsFound:
    """Which rooms have news, and which have to go."""
    return discover_rooms.discover_rooms()


@effect("settle")
def settle_rooms(reached: str) -> None:
    """The next run asks the homeserver for news since ``reached``."""
    discover_rooms.settle(reached)


@effect("begin:{room}")
def begin_room(room: str, *, from_start: bool) -> repos.Begun:
    """Checks that a room may be read and notes in the ledger where the run goes."""
    with open_room(room) as context:
        return rooms.begin(context, from_start=from_start)


@effect("upsert:{room}")
def upsert_room(room: str, *, allow_mass_delete: bool) -> Acknowledgement:
    """One step of a room; gives what the store acknowledged."""
    with open_room(room) as context:
        return rooms.upsert(context, allow_mass_delete=allow_mass_delete)


@effect("commit_cursor:{acknowledgement.source}")
def commit_cursor(acknowledgement: Acknowledgement) -> bool:
    """Moves the cursor; runs only on an acknowledgement. True: the source is caught up."""
    settings, _ = run_settings()
    with open_store(settings) as store:
        commit.commit(store, acknowledgement)
    return acknowledgement.finished


@effect("remove:{source}")
def remove_source(source: str) -> Counts:
    """Removes a source that is no longer listed; gives what was deleted."""
    settings, _ = run_settings()
    with open_store(settings) as store:
        counts = removal.remove(store, source).counts
    if source.startswith("repo:"):
        forget_mirrors(settings.cache_dir / "mirrors", source.removeprefix("repo:"))
    return counts


@effect("refuse:{room}")
def refuse_room(room: str, reason: str, *, lasting: bool) -> Counts:
    """Removes a room that may not be read after all, and says so in the journal."""
    settings, _ = run_settings()
    with open_store(settings) as store:
        counts = removal.remove(store, f"chat:{room}").counts
        rules = room_admission_version(settings)
        note_refused(store.ledger, room, reason, rules, lasting=lasting)
    return counts


@effect("mark_failed:{source}")
def mark_failed(source: str, reason: str) -> None:
    """Notes in the ledger why a source failed."""
    settings, _ = run_settings()
    with open_store(settings) as store:
        commit.mark_failed(store, source, reason)


@effect("mark_unavailable")
def mark_unavailable(reasons: dict[str, str]) -> None:
    """Notes in the ledger why sources could not be looked at."""
    settings, _ = run_settings()
    with open_store(settings) as store:
        commit.mark_unavailable(store, reasons)


def reason_of(error: BaseException) -> str:
    """Why something failed, without a word that could be somebody's text (spec 7.3)."""
    if isinstance(error, HuginnError):
        return str(error)
    return f"{type(error).__name__} (a bug; the log of the run has where)"
