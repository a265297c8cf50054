"""The one place of the write side that wires settings to adapters."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from search.analysis import ANALYSIS_VERSION
from search.collection import CollectionMeta
from search.connection import connect
from search.embedding import Embedder
from search.listing import RepositorySettings
from search.locking import locked
from search.settings import EmbedderSettings, Settings
from tasks.adapters.chunking import StructureChunker
from tasks.adapters.git_places import identity
from tasks.adapters.ledger import WeaviateLedger
from tasks.adapters.passage_writer import WeaviatePassageWriter
from tasks.adapters.repositories import GitRepository
from tasks.adapters.schema import ensure_collection
from tasks.adapters.scrubbing import BetterleaksScrubber
from tasks.context import RepoContext, Store
from tasks.domain.passages import RULES_VERSION
from tasks.errors import SourceNotListed
from tasks.ports import Scrubber
from tasks.progress import listener
from tasks.settings import repository_named, run_settings

if TYPE_CHECKING:
    from weaviate import WeaviateClient


@contextmanager
def open_store(settings: Settings) -> Iterator[Store]:
    """A writer and a ledger on the live collection, made first if need be."""
    with connect(settings, "writer", listener().say) as client:
        yield _store(settings, client)


def _store(settings: Settings, client: "WeaviateClient") -> Store:
    alias = settings.weaviate.collection
    made_with = embedder_of(settings.embedder).identity
    meta = CollectionMeta(made_with.name, made_with.digest, made_with.dimensions)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(settings.data_dir / "collection.lock"):  # Two first runs would make two of them.
        collection = ensure_collection(client, alias, meta)
    return Store(
        WeaviatePassageWriter(client, collection), WeaviateLedger(client, alias, collection)
    )


@contextmanager
def open_repo(name: str) -> Iterator[RepoContext]:
    """The context of one listed repository; clients and helper processes end with it.

    Raises:
        SourceNotListed: no repository of that name is listed.
    """
    settings, _ = run_settings()
    listed = repository_named(settings, name)
    if listed is None:
        raise SourceNotListed(f"repo:{name}")
    embedder = embedder_of(settings.embedder)
    chunker = StructureChunker(embedder.count_tokens, embedder.identity.token_limit)
    scrubber = scrubber_of()
    repository = GitRepository(listed, settings.cache_dir / "mirrors", settings.forge)
    with closing(repository), open_store(settings) as store:
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
