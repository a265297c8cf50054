"""A Huginn of its own for a benchmark of repositories: folders, settings file, runs, what it holds.

Runs are the product's own flow; what is stored is read back with the reader's key.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit

from search.connection import connect
from search.ledger import SourceRecord
from search.reader import Reader
from search.settings import CONFIG_VARIABLE, Settings, load_settings

ALIAS = "Huginn"
HUGINN = Path(sys.executable).with_name("huginn")


@dataclass
class Home:
    """Lists the repositories ``urls`` (by name); data, cache and Prefect stay below ``folder``.

    ``binary`` is a ``weaviate-server`` to run, None for the one that Huginn finds. One home a
    process: Prefect reads its folder once.
    """

    folder: Path
    urls: Mapping[str, str]
    binary: Path | None = None
    commit_messages: bool = True
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.environment = os.environ | {
            "PREFECT_HOME": str(self.folder / "prefect"),
            "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "1200",
            "HUGINN_DATA_DIR": str(self.folder / "data"),
            "HUGINN_CACHE_DIR": str(self.folder / "cache"),
        }
        if self.binary:
            self.environment["HUGINN_WEAVIATE__BINARY"] = str(self.binary)
        content = {
            "forge": {"commit_messages": self.commit_messages},
            "repositories": [{"name": name, "url": url} for name, url in self.urls.items()],
        }
        self.config.write_text(tomlkit.dumps(content), encoding="utf-8")

    @property
    def config(self) -> Path:
        """The settings file."""
        return self.folder / "huginn.toml"

    def refresh(self, collection: str = ALIAS) -> dict[str, dict[str, Any]]:
        """The flow ``refresh``, in this process: what became of each source.

        Raises:
            SourcesFailed: the script ends.
        """
        for name, value in self.environment.items():
            if name.startswith("PREFECT_"):
                os.environ[name] = value
        os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
        from flows.refresh import refresh

        with self.settings(collection):
            return {outcome.source: outcome.as_dict() for outcome in refresh()}

    def down(self) -> None:
        """Stop this home's Weaviate."""
        command, environment = self.command("down")
        subprocess.run(command, env=environment, check=True)

    def command(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """A huginn command of this home and its environment."""
        return [str(HUGINN), *arguments, "--config", str(self.config)], self.environment

    @contextmanager
    def settings(self, collection: str = ALIAS) -> Iterator[Settings]:
        """This home's settings, in force for the block."""
        names = {
            name: value for name, value in self.environment.items() if name.startswith("HUGINN_")
        }
        names |= {
            CONFIG_VARIABLE: str(self.config),
            "HUGINN_WEAVIATE__COLLECTION": collection,
        }
        before = {name: os.environ.get(name) for name in names}
        os.environ.update(names)
        try:
            yield load_settings()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    def passages(self, collection: str = ALIAS) -> dict[str, dict[str, Any]]:
        """All stored properties but the time of ingestion, by id."""
        with self.settings(collection) as settings:
            found = stored(settings)
        return {
            identifier: {key: value for key, value in facts.items() if key != "ingested_at"}
            for identifier, facts in found.items()
        }


def stored(settings: Settings) -> dict[str, dict[str, Any]]:
    """All stored properties of all passages, by id."""
    alias = settings.weaviate.collection
    with connect(settings, "reader") as client:
        name = Reader(client, alias).resolve().name
        items = client.collections.get(name).iterator()
        return {str(item.uuid): dict(item.properties) for item in items}


def records(settings: Settings) -> dict[str, SourceRecord]:
    """The ledger's records, by source."""
    alias = settings.weaviate.collection
    with connect(settings, "reader") as client:
        reader = Reader(client, alias)
        return dict(reader.records(reader.resolve().name))


def git(repository: Path | str, *arguments: str, stdin: bytes | None = None) -> bytes:
    """What git prints in ``repository``."""
    return subprocess.run(
        ["git", "-C", str(repository), *arguments], input=stdin, stdout=subprocess.PIPE, check=True
    ).stdout


def say(line: str) -> None:
    """A line of the report, at once."""
    print(line, flush=True)  # noqa: T201  # a command's output
