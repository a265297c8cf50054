"""``huginn-search`` as users run it: a process of its own, a look-up service of its own."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import tomlkit

from search import client, embedded, service_start
from search.collection import CollectionMeta
from search.connection import connect
from search.embedding import Embedder
from search.ledger import SourceRecord
from search.passage import Passage
from search.service_place import Place, place_of
from search.settings import EmbedderSettings, Settings
from tasks.adapters.collections import ensure_collection
from tasks.adapters.ledger import WeaviateLedger
from tasks.adapters.passage_writer import WeaviatePassageWriter
from tasks.ports import Vectors

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Shown:
    """What a command left behind."""

    code: int
    out: str
    err: str


@dataclass
class Desk:
    """A settings file, a private folder for sockets, and the processes that come of them."""

    folder: Path
    runtime: Path
    content: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.write()

    @property
    def config(self) -> Path:
        return self.folder / "huginn.toml"

    def write(self, **changes: Any) -> None:
        """The settings file, with top-level ``changes``."""
        self.content |= changes
        self.config.write_text(tomlkit.dumps(self.content), encoding="utf-8")

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """``huginn-search`` with these arguments, not waited for."""
        program = "from search.cli import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            env=self.variables(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> Shown:
        """``huginn-search`` with these arguments."""
        return done(self.start(*arguments))

    def place(self) -> Place:
        """Where its service is reached."""
        before, theirs = {**os.environ}, self.variables()
        os.environ.clear()
        os.environ.update(theirs)
        try:
            return place_of(self.config)
        finally:
            os.environ.clear()
            os.environ.update(before)

    def service(self) -> psutil.Process:
        """The process of the service that listens."""
        pid = client.process_of(self.place())
        assert pid is not None
        return psutil.Process(pid)

    def services(self) -> list[int]:
        """Every process that is a service for this settings file, listening or not."""
        return [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if (command := process.info["cmdline"]) and "search.service" in command
            if str(self.config.resolve()) in command
        ]

    def log(self) -> str:
        """The service's log."""
        return (Path(self.content["data_dir"]) / "search" / "service.log").read_text()

    def end(self) -> None:
        """Nothing of it is left."""
        for pid in self.services():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        service_start.stop(self.place())
        for pid in self.services():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def variables(self) -> dict[str, str]:
        """The whole environment of its processes."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "HUGINN_CONFIG": str(self.config),
            **self.environment,
        }


@contextmanager
def desk(folder: Path, **content: Any) -> Iterator[Desk]:
    """A desk whose settings file holds ``content``; nothing of it is left afterwards."""
    runtime = Path(tempfile.mkdtemp(prefix="huginn-"))  # a socket's address has to be short
    made = Desk(folder, runtime, {"data_dir": str(folder / "data"), **content})
    try:
        yield made
    finally:
        made.end()
        shutil.rmtree(runtime)


def done(process: "subprocess.Popen[str]") -> Shown:
    """What a command leaves behind, once it has ended."""
    out, err = process.communicate(timeout=240)
    return Shown(process.returncode, out, err)


def address_of(server: Settings, collection: str) -> dict[str, Any]:
    """The section ``[weaviate]`` of a user who has a Weaviate of their own: ``server``'s."""
    running = embedded.running(server)
    assert running is not None
    return {
        "url": f"http://127.0.0.1:{running.http_port}",
        "grpc_url": f"http://127.0.0.1:{running.grpc_port}",
        "reader_key": embedded.keys(server).reader,
        "collection": collection,
    }


def put(
    server: Settings,
    collection: str,
    passages: Sequence[Passage],
    records: Sequence[SourceRecord],
    *,
    meta: CollectionMeta | None = None,
) -> None:
    """A collection with these passages, embedded by the real model, and records.

    ``meta`` says that it was made with another model.
    """
    model = Embedder(EmbedderSettings())
    same = CollectionMeta(model.identity.name, model.identity.digest, model.identity.dimensions)
    with connect(server, "writer") as weaviate:
        name = ensure_collection(weaviate, collection, meta or same)
        ledger = WeaviateLedger(weaviate, collection, name)
        vectors = model.embed([passage.window for passage in passages], "document")
        pairs = zip(passages, vectors, strict=True)
        made = [(passage, Vectors(vector, [vector])) for passage, vector in pairs]
        assert len(WeaviatePassageWriter(weaviate, name).write(made)) == len(passages)
        for record in records:
            ledger.put(record)
