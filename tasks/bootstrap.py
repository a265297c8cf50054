"""The one place of the write side that wires settings to adapters."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from search.analysis import ANALYSIS_VERSION
from search.collection import CollectionMeta
from search.connection import connect
from search.embedding import Embedder
from search.listing import RepositorySettings
from search.locking import locked
from search.settings import EmbedderSettings, Settings
from tasks.adapters.chunking import StructureChunker
from tasks.adapters.collections import check_collection, ensure_collection
from tasks.adapters.git_places import identity
from tasks.adapters.ledger import WeaviateLedger
from tasks.adapters.matrix import MatrixHomeserver
from tasks.adapters.passage_writer import WeaviatePassageWriter
from tasks.adapters.rebuilds import Rebuilds
from tasks.adapters.repositories import GitRepository
from tasks.adapters.scrubbing import BetterleaksScrubber
from tasks.adapters.window_index import WeaviateWindowIndex
from tasks.aim import aim
from tasks.chat_ports import WindowIndex
from tasks.context import RepoContext, Store
from tasks.disk import check_room
from tasks.domain.passages import RULES_VERSION
from tasks.domain.puppets import Puppets
from tasks.domain.rooms import RoomRules
from tasks.domain.segments import GAP, MODULUS
from tasks.domain.windows import WINDOW_RULES
from tasks.errors import ChatNotSet, SourceNotListed
from tasks.lease import owned
from tasks.locks import idle
from tasks.ports import Scrubber
from tasks.progress import listener
from tasks.room_context import ChatContext, RoomContext
from tasks.room_records import purges_of
from tasks.settings import matrix_token, repository_named, run_settings

if TYPE_CHECKING:
    from weaviate import WeaviateClient


@contextmanager
def open_store(settings: Settings, *, writing: bool = False) -> Iterator[Store]:
    """A writer and a ledger on the collection that is aimed at, the live one made if need be.

    Whoever is ``writing`` new passages is refused a collection that was made otherwise.
    """
    with open_windows(settings, writing=writing) as (store, _):
        yield store


@contextmanager
def open_windows(
    settings: Settings, *, writing: bool = False
) -> Iterator[tuple[Store, WindowIndex]]:
    """The same, and the index of the rooms' windows; asks for no homeserver and no token."""
    with connected(settings) as client:
        alias = settings.weaviate.collection
        meta = meta_of(aim().applied(settings))
        collection = aim().collection or live_collection(settings, client)
        if writing:
            check_collection(client, alias, collection, meta)
        store = Store(
            WeaviatePassageWriter(client, collection, _donor(client, alias, meta)),
            WeaviateLedger(client, alias, collection),
            owned,
            partial(idle, settings),
        )
        yield store, WeaviateWindowIndex(client, collection)


_shared: "ContextVar[WeaviateClient | None]" = ContextVar("client", default=None)


@contextmanager
def connected(settings: Settings) -> Iterator["WeaviateClient"]:
    """A client with the writer's key: the block's own, or that of ``one_connection`` around it."""
    shared = _shared.get()
    if shared is not None:
        yield shared
        return
    with connect(settings, "writer", listener().say) as client:
        yield client


@contextmanager
def one_connection(settings: Settings) -> Iterator[None]:
    """One client for all that this thread opens in the block: for looks that follow each other."""
    with connected(settings) as client:
        before = _shared.set(client)
        try:
            yield
        finally:
            _shared.reset(before)


def _donor(client: "WeaviateClient", alias: str, meta: CollectionMeta) -> str | None:
    """What a rebuild may take vectors from; nothing for what is to be erased."""
    note = Rebuilds(client, alias).note() if aim().collection else None
    if note is None or note.erase:
        return None
    made = WeaviateLedger(client, alias, note.replaces).meta()
    return note.replaces if made and made.embedder_digest == meta.embedder_digest else None


def live_collection(settings: Settings, client: "WeaviateClient") -> str:
    """The real name of the collection that look-ups see, made first if there is none."""
    with live_held(settings, client) as name:
        return name


@contextmanager
def live_held(settings: Settings, client: "WeaviateClient") -> Iterator[str]:
    """The same, for the block: on this machine nobody else makes a collection or moves the alias.

    Else two first runs would make two of them.
    """
    meta = meta_of(settings)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(settings.data_dir / "collection.lock"):
        yield ensure_collection(client, settings.weaviate.collection, meta)


def meta_of(settings: Settings) -> CollectionMeta:
    """What a collection made by these settings is made with."""
    made_with = embedder_of(settings.embedder).identity
    return CollectionMeta(made_with.name, made_with.digest, made_with.dimensions)


@contextmanager
def open_repo(name: str, *, ingest: bool = True) -> Iterator[RepoContext]:
    """The context of one listed repository; clients and helper processes end with it.

    Raises:
        SourceNotListed: no repository of that name is listed.
        DiskTooFull: for an ``ingest``, there is too little room.
    """
    settings, _ = run_settings()
    if ingest:
        check_room(settings)
    listed = repository_named(settings, name)
    if listed is None:
        raise SourceNotListed(f"repo:{name}")
    embedder = embedder_of(settings.embedder)
    chunker = StructureChunker(embedder.count_tokens, embedder.identity.token_limit)
    scrubber = scrubber_of()
    repository = GitRepository(listed, settings.cache_dir / "mirrors", settings.forge)
    with closing(repository), open_store(settings, writing=True) as store:
        yield RepoContext(
            listed=listed,
            settings=settings,
            repository=repository,
            store=store,
            embedder=embedder,
            chunker=chunker,
            scrubber=scrubber,
            rules=rules_version(settings),
            commit_rules=commit_rules_version(settings),
            admission=admission_version(settings, listed),
            identity=identity(listed),
        )


@contextmanager
def open_chat(settings: Settings) -> Iterator[ChatContext]:
    """What the tasks of the rooms share: one homeserver's client a task (P17), closed with it.

    The token is read only here, and only if a homeserver is set.
    """
    with ExitStack() as stack:
        homeserver = None
        if settings.matrix.homeserver is not None:
            homeserver = stack.enter_context(open_homeserver(settings))
        store, index = stack.enter_context(open_windows(settings, writing=True))
        yield chat_context(settings, store, index, homeserver)


def chat_context(
    settings: Settings, store: Store, index: WindowIndex, homeserver: MatrixHomeserver | None
) -> ChatContext:
    """What the work on rooms is given, by these settings."""
    return ChatContext(
        settings=settings,
        store=store,
        index=index,
        homeserver=homeserver,
        embedder=embedder_of(settings.embedder),
        scrubber=scrubber_of(),
        rules=room_rules(settings),
        purges=tuple(purges_of(store.ledger)),
        version=chat_version(settings),
        admission=room_admission_version(settings),
    )


@contextmanager
def open_homeserver(
    settings: Settings, *, patience: float | None = None
) -> Iterator[MatrixHomeserver]:
    """A client of the homeserver, asked as the reader; ``patience`` in place of the setting.

    Raises:
        ChatNotSet: the settings name none.
    """
    matrix = settings.matrix
    if matrix.homeserver is None:
        raise ChatNotSet
    client = MatrixHomeserver(
        matrix.homeserver,
        matrix_token(settings),
        timeout=matrix.timeout,
        patience=matrix.patience if patience is None else patience,
    )
    with closing(client):
        yield client


@contextmanager
def open_room(room: str) -> Iterator[RoomContext]:
    """The context of one room, for an ingest.

    Raises:
        DiskTooFull: there is too little room.
    """
    settings, _ = run_settings()
    check_room(settings)
    with open_chat(settings) as chat:
        yield chat.room(room)


def room_rules(settings: Settings) -> RoomRules:
    """What the settings say of who gets in."""
    matrix = settings.matrix
    return RoomRules(
        matrix.excluded, matrix.direct, matrix.formerly_bridged, Puppets(matrix.puppets)
    )


def chat_version(settings: Settings) -> str:
    """Names everything that turns a room's events into passages (spec 2.1)."""
    identifier = embedder_of(settings.embedder).identity
    return _short(
        (WINDOW_RULES, ANALYSIS_VERSION, scrubber_of().version),
        (GAP.total_seconds(), MODULUS, identifier.token_limit),
        settings.matrix.notices,
        Puppets(settings.matrix.puppets).patterns,
    )


def room_admission_version(settings: Settings) -> str:
    """Names everything that decides which rooms are read."""
    matrix = settings.matrix
    return _short(
        matrix.excluded,
        matrix.direct,
        matrix.formerly_bridged,
        Puppets(matrix.puppets).patterns,
    )


def rules_version(settings: Settings) -> str:
    """Names everything that turns a text into passages."""
    identifier = embedder_of(settings.embedder).identity
    versions = (RULES_VERSION, ANALYSIS_VERSION, scrubber_of().version)
    return _short(versions, identifier.token_limit)


def commit_rules_version(settings: Settings) -> str:
    """Names everything that chooses commits and turns their messages into passages."""
    forge = settings.forge
    return _short(rules_version(settings), forge.merge_commits, forge.bot_commits)


def admission_version(settings: Settings, listed: RepositorySettings) -> str:
    """Names everything that chooses what of a repository is taken."""
    forge = settings.forge
    return _short(
        list(listed.include),
        list(listed.exclude),
        forge.max_file_bytes,
        forge.commit_messages,
        commit_rules_version(settings),
    )


def _short(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@lru_cache(maxsize=2)
def embedder_of(settings: EmbedderSettings) -> Embedder:
    """One embedder a process: the model is loaded once."""
    return Embedder(settings, listener().say)


@lru_cache(maxsize=1)
def scrubber_of() -> Scrubber:
    """One scrubber a process."""
    return BetterleaksScrubber()
