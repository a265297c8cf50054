"""What the work on a source is given: ports and settings, wired by ``tasks.bootstrap``."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from search.embedding import Embedder
from search.listing import RepositorySettings
from search.settings import Settings
from tasks.ports import Chunker, Ledger, PassageWriter, Repository, Scrubber


@dataclass(frozen=True, slots=True)
class Store:
    """The write side's view of Weaviate.

    ``owned`` raises ``LeaseLost`` if this run may no longer delete of a source or move its cursor
    (spec 2.6). ``idle`` tells for its block whether no run of this machine is at work on a
    source, and lets none begin.
    """

    writer: PassageWriter
    ledger: Ledger
    owned: Callable[[str], None] = lambda _: None
    idle: Callable[[str], AbstractContextManager[bool]] = lambda _: nullcontext(enter_result=True)


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
