"""A collection on the session's Weaviate, filled by hand and looked up with the reader's key."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from search import lookups
from search.collection import CollectionMeta
from search.connection import connect
from search.embedding import Vector
from search.ledger import Journal, SourceRecord
from search.listing import RepositorySettings
from search.passage import Passage
from search.query import query
from search.reader import Reader
from search.requests import COMMANDS
from search.settings import Settings
from tasks.adapters.collections import ensure_collection
from tasks.adapters.ledger import WeaviateLedger
from tasks.adapters.passage_writer import WeaviatePassageWriter
from tasks.ports import Vectors
from tests.support.fakes import META, FakeEmbedder, current, vectors_for

T = TypeVar("T")

IDENTITY = "https://matrix.example.org as @reader:example.org"


@dataclass
class Shelf:
    """What ``put`` stores is looked up as users would; the embedder is a fake that counts."""

    server: Settings
    collection: str
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    unlisted: set[str] = field(default_factory=set)
    records: dict[str, SourceRecord] = field(default_factory=dict)
    meta: CollectionMeta = META

    def put(self, *passages: Passage, vectors: Mapping[str, Vector] | None = None) -> None:
        """Writes the passages in this order, in one batch, and the records of their sources.

        ``vectors`` gives those of some by their ids; else they follow from the text.
        """
        given = vectors or {}

        def vectors_of(passage: Passage) -> Vectors:
            vector = given.get(passage.id)
            return Vectors(vector, [vector]) if vector else vectors_for(passage.window)

        with connect(self.server, "writer") as client:
            name = ensure_collection(client, self.collection, self.meta)
            writer = WeaviatePassageWriter(client, name)
            assert len(writer.write((p, vectors_of(p)) for p in passages)) == len(passages)
            self._note(WeaviateLedger(client, self.collection, name), {p.source for p in passages})

    def journal(self, journal: Journal) -> None:
        """Puts the journal of a run."""
        with connect(self.server, "writer") as client:
            name = ensure_collection(client, self.collection, self.meta)
            WeaviateLedger(client, self.collection, name).put_document("journal", journal.as_json())

    def note(self, record: SourceRecord) -> None:
        """Puts the record of a source."""
        with connect(self.server, "writer") as client:
            name = ensure_collection(client, self.collection, self.meta)
            self.records[record.source] = record
            WeaviateLedger(client, self.collection, name).put(record)

    def _note(self, ledger: WeaviateLedger, sources: Iterable[str]) -> None:
        for source in sources:
            if source not in self.records:
                chat = {"identity": IDENTITY} if source.startswith("chat:") else {}
                self.records[source] = current(source, **chat)
                ledger.put(self.records[source])

    @property
    def settings(self) -> Settings:
        """Settings that list every repository but the unlisted ones."""
        names = [
            source.removeprefix("repo:")
            for source in self.records
            if source.startswith("repo:") and source not in self.unlisted
        ]
        repositories = tuple(RepositorySettings(name=name, url=f"/srv/{name}") for name in names)
        weaviate = self.server.weaviate.model_copy(update={"collection": self.collection})
        return self.server.model_copy(
            update={"repositories": repositories, "weaviate": weaviate},
        )

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        with connect(self.server, "reader") as client:
            yield Reader(client, self.collection)

    def search(self, *texts: str, **options: Any) -> lookups.Answer:
        with self.reader() as reader:
            return lookups.search(
                query(texts, **options),
                reader=reader,
                settings=self.settings,
                embedder=lambda _: self.embedder,
            )

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The fields of a command's document."""
        with self.reader() as reader:
            engine = _Engine(reader, self.settings, lambda _: self.embedder)
            request = COMMANDS[command].request(arguments)
            found = COMMANDS[command].run(request, engine)  # type: ignore[arg-type]
            return COMMANDS[command].document(found)


@dataclass
class _Engine:
    """The part of the engine that look-ups use, on a client of the shelf's."""

    reader: Reader
    settings: Settings
    embedder: Callable[[str], FakeEmbedder]

    def look_up(self, use: Callable[[Reader], T]) -> T:
        return use(self.reader)
