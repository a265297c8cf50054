"""The folders and the state file of the embedded Weaviate (spec 1.4).

``<data_dir>/weaviate/`` holds ``data/`` (Weaviate's own), ``keys/`` (one file a key) and ``run/``
(``server.json``, ``start.lock``, ``weaviate.log`` and the log before it). Folders are 0700 and
files 0600 from the moment they exist.
"""

import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Self

from search.embedded_ports import LOOPBACK, Ports
from search.errors import SettingsError
from search.settings import Settings


@dataclass(frozen=True, slots=True)
class Home:
    """Where everything of one embedded server stands; ``root`` is absolute, links resolved."""

    root: Path

    @property
    def data(self) -> Path:
        """Weaviate's data folder."""
        return self.root / "data"

    @property
    def keys(self) -> Path:
        """The folder of the keys."""
        return self.root / "keys"

    @property
    def run(self) -> Path:
        """The folder of what changes from start to start."""
        return self.root / "run"

    @property
    def log(self) -> Path:
        """What the server says since its last start."""
        return self.run / "weaviate.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One embedded server, as ``server.json`` tells of it.

    ``created`` is the process's start (seconds since the epoch, as psutil tells it): with it a
    number that the system gave to another process is not believed. ``ready`` turns true once the
    server has answered us with its version.
    """

    address: ClassVar[str] = LOOPBACK

    pid: int
    created: float
    ports: Ports
    version: str
    binary: str
    ready: bool = False

    @property
    def http_port(self) -> int:
        """Where REST is served on ``address``."""
        return self.ports.http

    @property
    def grpc_port(self) -> int:
        """Where gRPC is served on ``address``."""
        return self.ports.grpc

    @classmethod
    def of(cls, content: object) -> Self:
        """The server that a parsed ``server.json`` tells of.

        Raises:
            TypeError, KeyError, ValueError: it does not tell of one.
        """
        if not isinstance(content, dict):
            raise TypeError("not an object")
        ports = Ports(*(int(content["ports"][name]) for name in Ports.__slots__))
        return cls(
            pid=int(content["pid"]),
            created=float(content["created"]),
            ports=ports,
            version=str(content["version"]),
            binary=str(content["binary"]),
            ready=content["ready"] is True,
        )


def home_of(settings: Settings) -> Home:
    """The embedded server's home under ``data_dir``; nothing is made yet."""
    return Home((settings.data_dir.expanduser() / "weaviate").resolve())


def forget_stillborn(home: Home) -> None:
    """Removes the state of Raft where no collection was ever made; no server may be running.

    A server that is killed while it founds its cluster of one leaves a log without a member: the
    next one finds it and waits for a leader for ever.
    """
    raft = home.data / "raft"
    folders = {each.name for each in home.data.iterdir() if each.is_dir()}
    if folders == {raft.name}:
        shutil.rmtree(raft)


def prepare(home: Home) -> None:
    """Makes the folders, and closes them to others where they stood open."""
    for folder in (home.root, home.data, home.keys, home.run):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_mode & 0o077:
                folder.chmod(0o700)
        except OSError as error:
            fix = "Name a folder that belongs to you."
            raise SettingsError("data_dir", f"{folder}: {error.strerror}", fix) from error


def recorded(home: Home) -> Server | None:
    """What ``server.json`` tells; None when it is missing or makes no sense."""
    try:
        return Server.of(json.loads((home.run / "server.json").read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def record(home: Home, server: Server) -> None:
    """Puts ``server`` into ``server.json``, in one step."""
    descriptor, scratch = tempfile.mkstemp(prefix=".server-", dir=home.run)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        json.dump(asdict(server), out)
    Path(scratch).replace(home.run / "server.json")
