"""A community under test: real repositories, the session's Weaviate, the real model and flows."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit

from search import embedded, lookups
from search.config_file import CONFIG_VARIABLE
from search.connection import connect
from search.embedding import Embedder
from search.ledger import SourceRecord
from search.query import query
from search.reader import Reader
from search.settings import Settings, load_settings
from tests.support.git_repos import GitRepo
from tests.support.synapse_community import People


@dataclass
class Community:
    """Lists ``repositories`` in its own huginn.toml, on its own collection."""

    folder: Path
    server: Settings
    collection: str
    repositories: dict[str, GitRepo] = field(default_factory=dict)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    forge: dict[str, Any] = field(default_factory=dict)
    grpc_port: int | None = None
    matrix: dict[str, Any] = field(default_factory=dict)
    embedding: dict[str, Any] = field(default_factory=dict)

    def reads(self, server: People, reader: str) -> None:
        """Lets the user ``reader`` of that homeserver be the reader."""
        token = self.folder / "matrix-token"
        token.write_text(server.token(reader))
        token.chmod(0o600)
        self.matrix |= {
            "homeserver": server.url,
            "user": server.mxid(reader),
            "token_file": str(token),
        }

    def repository(self, name: str, **options: Any) -> GitRepo:
        """A new repository, listed under ``name``."""
        place = self.folder / "repositories" / name.replace("/", "+")
        place.parent.mkdir(exist_ok=True, parents=True)
        self.repositories[name] = GitRepo(place)
        self.options[name] = options
        return self.repositories[name]

    def unlist(self, name: str) -> None:
        """Take a repository off the list."""
        del self.repositories[name]

    def config(self) -> Path:
        """The settings file, written anew."""
        running = embedded.running(self.server)
        assert running is not None
        keys = embedded.keys(self.server)
        content = {
            "data_dir": str(self.folder / "data"),
            "cache_dir": str(self.folder / "cache"),
            "weaviate": {
                "url": f"http://127.0.0.1:{running.http_port}",
                "grpc_url": f"http://127.0.0.1:{self.grpc_port or running.grpc_port}",
                "writer_key": keys.writer,
                "reader_key": keys.reader,
                "collection": self.collection,
            },
            "forge": self.forge,
            "matrix": self.matrix,
            "embedder": self.embedding,
            "repositories": [
                {"name": name, "url": str(repository.path)} | self.options[name]
                for name, repository in self.repositories.items()
            ],
        }
        path = self.folder / "huginn.toml"
        path.write_text(tomlkit.dumps(content), encoding="utf-8")
        path.chmod(0o600)
        return path

    @contextmanager
    def configured(self) -> Iterator[Settings]:
        """The settings in force for the block, as for a command run with ``--config``."""
        before = os.environ.get(CONFIG_VARIABLE)
        os.environ[CONFIG_VARIABLE] = str(self.config())
        try:
            yield load_settings()
        finally:
            os.environ.pop(CONFIG_VARIABLE)
            if before is not None:
                os.environ[CONFIG_VARIABLE] = before

    def embedder(self) -> Embedder:
        """The embedder that the tasks of this process share."""
        from tasks.bootstrap import embedder_of

        with self.configured() as settings:
            return embedder_of(settings.embedder)

    def refresh(self, **options: bool) -> dict[str, Any]:
        """The flow ``refresh``; outcomes by source, also when the run failed."""
        from flows.refresh import refresh
        from flows.report import SourcesFailed

        with self.configured():
            try:
                outcomes = refresh(**options)
            except SourcesFailed as error:
                outcomes = list(error.outcomes)
        return {outcome.source: outcome for outcome in outcomes}

    def backfill(
        self, source: str | None = None, *, since: str | None = None, until: str | None = None
    ) -> dict[str, Any]:
        """The flow ``backfill``; outcomes by source."""
        from flows.backfill import backfill

        with self.configured():
            outcomes = backfill(source, since=since, until=until)
        return {outcome.source: outcome for outcome in outcomes}

    def search(self, *texts: str, **options: Any) -> lookups.Answer:
        """A look-up with the reader's key."""
        with self.configured() as settings, connect(settings, "reader") as client:
            return lookups.search(
                query(list(texts), **options),
                reader=Reader(client, self.collection),
                settings=settings,
                embedder=lambda _: self.embedder(),
            )

    def rebuild(self, **options: bool) -> dict[str, Any]:
        """The flow ``rebuild``; outcomes by source, also when the run failed."""
        from flows.rebuild import rebuild
        from flows.report import SourcesFailed

        with self.configured():
            try:
                outcomes = rebuild(**options)
            except SourcesFailed as error:
                outcomes = list(error.outcomes)
        return {outcome.source: outcome for outcome in outcomes}

    def record(self, source: str) -> SourceRecord | None:
        """What the ledger says of a source."""
        with self.configured() as settings, connect(settings, "reader") as client:
            reader = Reader(client, self.collection)
            return reader.records(reader.resolve().name).get(source)

    def passages(self, source: str | None = None) -> dict[str, dict[str, Any]]:
        """What is stored, by id: all properties but the time of ingestion, and the vectors."""
        with self.configured() as settings, connect(settings, "reader") as client:
            name = Reader(client, self.collection).resolve().name
            found = {}
            for item in client.collections.get(name).iterator(include_vector=True):
                facts = dict(item.properties)
                facts.pop("ingested_at")
                facts["vectors"] = {
                    vector: _rounded(numbers) for vector, numbers in item.vector.items()
                }
                if source in (None, facts["source"]):
                    found[str(item.uuid)] = facts
        return found

    def texts(self, source: str | None = None) -> list[str]:
        """The texts of what is stored, sorted."""
        return sorted(facts["text"] for facts in self.passages(source).values())


def without_vectors(passages: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """For comparing what was embedded in other batches, whose vectors differ in the last digits."""
    return {
        identifier: {name: value for name, value in facts.items() if name != "vectors"}
        for identifier, facts in passages.items()
    }


def _rounded(numbers: Sequence[Any]) -> list[Any]:
    if numbers and isinstance(numbers[0], float):
        return [round(number, 4) for number in numbers]
    return [_rounded(part) for part in numbers]
