"""What a run would do, without doing any of it (``--dry-run``).

The store is read with the reader's key, discovery works on a ledger that is never written,
homeservers are asked by GET, repositories by ls-remote, and a mirror is only looked into.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.connection import connect
from search.errors import CollectionMissing, HuginnError
from search.ledger import SourceRecord
from search.listing import RepositorySettings
from search.reader import Reader
from search.settings import Settings
from tasks.adapters.git_places import identity
from tasks.adapters.ledger import WeaviateLedger
from tasks.adapters.passage_writer import WeaviatePassageWriter
from tasks.adapters.rebuilds import Rebuilds
from tasks.adapters.repositories import GitRepository
from tasks.adapters.window_index import WeaviateWindowIndex
from tasks.bootstrap import (
    admission_version,
    chat_context,
    chat_version,
    meta_of,
    open_homeserver,
    rules_version,
)
from tasks.context import Store
from tasks.discover_rooms import RoomsFound, discover
from tasks.domain.cursors import changed_paths
from tasks.domain.plans import Planned, of_repository, of_room
from tasks.dry_ledger import DryLedger
from tasks.progress import listener
from tasks.repo_plan import as_map
from tasks.room_records import purges_of
from tasks.settings import run_settings

if TYPE_CHECKING:
    from weaviate import WeaviateClient


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would do with each source; ``rebuild`` is why another collection is filled."""

    sources: tuple[Planned, ...]
    rebuild: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether everything could be looked at."""
        return all(each.action != "unavailable" for each in self.sources)


@dataclass(frozen=True, slots=True)
class Look:
    """What is looked at: settings, the store by the reader's key, a ledger that keeps nothing.

    ``collection`` None: there is none yet.
    """

    settings: Settings
    own_list: bool
    records: Mapping[str, SourceRecord]
    ledger: DryLedger
    client: "WeaviateClient"
    collection: str | None
    rebuild: str | None

    @property
    def writer(self) -> WeaviatePassageWriter:
        """Only asked; the key that it has may not write."""
        return WeaviatePassageWriter(self.client, self.collection or "None")

    @property
    def index(self) -> WeaviateWindowIndex:
        """The rooms' windows."""
        return WeaviateWindowIndex(self.client, self.collection or "None")

    def held(self, source: str) -> int:
        """How many passages are stored of a source."""
        return self.writer.count(source) if self.collection else 0


def plan_refresh(corpus: str | None = None) -> Plan:
    """What ``refresh`` would do.

    Raises:
        HuginnError: Weaviate or the settings do not let anything be told.
    """
    planned: list[Planned] = []
    with looking() as at:
        if corpus != "forge":
            planned += rooms(at)
        if corpus != "chat":
            planned += [repository(at, each) for each in at.settings.repositories]
            listed = {each.source for each in at.settings.repositories}
            gone = [each for each in sorted(at.records) if each.startswith("repo:")]
            planned += [
                Planned(each, "remove", "it is no longer listed", passages=at.held(each))
                for each in gone
                if each not in listed and at.own_list
            ]
        return Plan(tuple(planned), at.rebuild)


@contextmanager
def looking() -> Iterator[Look]:
    """Everything that a plan is told from; nothing that it is given can be written."""
    settings, own_list = run_settings()
    alias = settings.weaviate.collection
    with connect(settings, "reader", listener().say) as client:
        try:
            name = Reader(client, alias).resolve().name
        except CollectionMissing:
            yield Look(settings, own_list, {}, DryLedger(), client, None, None)
            return
        stored = WeaviateLedger(client, alias, name)
        made, note = stored.meta(), Rebuilds(client, alias).note()
        differences = made.differences(meta_of(settings)) if made else []
        rebuild = f"the collection was made otherwise ({'; '.join(differences)})"
        if not differences:
            rebuild = note.reason if note else ""
        records = stored.records()
        ledger = DryLedger(stored)
        yield Look(settings, own_list, records, ledger, client, name, rebuild or None)


def rooms(at: Look) -> list[Planned]:
    """What a refresh would do with each room."""
    try:
        with ExitStack() as stack:
            homeserver = None
            if at.settings.matrix.homeserver is not None:
                homeserver = stack.enter_context(open_homeserver(at.settings))
            store = Store(at.writer, at.ledger)
            found = discover(chat_context(at.settings, store, at.index, homeserver))
    except HuginnError as error:
        return [Planned("chat", "unavailable", str(error))]
    return _told(at, found)


def _told(at: Look, found: RoomsFound) -> list[Planned]:
    version = chat_version(at.settings)
    waiting = {purge.room for purge in purges_of(at.ledger) if not purge.applied}
    planned = [Planned(source, "unchanged") for source in found.unchanged]
    for room in found.due:
        source = f"chat:{room}"
        action, reason = of_room(at.records.get(source), version, purge=room in waiting)
        planned.append(Planned(source, action, reason))
    planned += [
        Planned(source, "remove", reason, passages=at.held(source))
        for source, reason in found.gone.items()
    ]
    planned += [Planned(each, "unavailable", why) for each, why in found.unavailable.items()]
    return sorted(planned, key=lambda each: each.source)


def repository(at: Look, listed: RepositorySettings) -> Planned:
    """What a refresh would do with a repository."""
    record = at.records.get(listed.source) or SourceRecord(listed.source)
    if record.identity and record.identity != identity(listed):
        return Planned(listed.source, "unavailable", f"its name is that of {record.identity}")
    folder = at.settings.cache_dir / "mirrors"
    try:
        with closing(GitRepository(listed, folder, at.settings.forge, keep=True)) as opened:
            tip = opened.tip()
            action, reason = of_repository(
                record,
                tip,
                rules=rules_version(at.settings),
                admission=admission_version(at.settings, listed),
                label=listed.label,
            )
            held = record.cursor.commit
            files, commits = None, None
            if action == "news" and tip and held and not record.cursor.targets:
                files, commits = _news(opened, held, tip)
    except HuginnError as error:
        return Planned(listed.source, "unavailable", str(error))
    return Planned(listed.source, action, reason, held, tip, files, commits)


def _news(repository: GitRepository, held: str, tip: str) -> tuple[int | None, int | None]:
    """How many files and commits differ, as far as the mirror can tell."""
    try:
        paths = changed_paths([as_map(repository.tree(held))], as_map(repository.tree(tip)))
        return len(paths), len(repository.commit_ids([tip], [held]))
    except HuginnError:
        return None, None
