"""What the work on a source is given: ports and settings, wired by ``tasks.bootstrap``."""

from dataclasses import dataclass

from search.embedding import Embedder
from search.listing import RepositorySettings
from search.settings import Settings
from tasks.ports import Chunker, Ledger, PassageWriter, Repository, Scrubber


@dataclass(frozen=True, slots=True)
class Store:
    """The write side's view of Weaviate."""

    writer: PassageWriter
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class RepoContext:
    """Everything that the tasks of one repository need.

    ``rules`` names what makes a passage out of a text, ``admission`` what chooses the files: a
    change of either makes the next run go through the whole tree (W35).
    """

    listed: RepositorySettings
    settings: Settings
    repository: Repository
    store: Store
    embedder: Embedder
    chunker: Chunker
    scrubber: Scrubber
    rules: str
    commit_rules: str
    admission: str
    identity: str
