"""A community whose own Weaviate is started by the product, with news made by chance, for kills."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit

from search import embedded
from search.settings import Settings
from tasks.verify import cursor_ahead
from tests.support.community import Community, without_vectors
from tests.support.refresh_forks import Forks
from tests.support.synapse import Synapse
from tests.support.weaviate_server import settings_in

READER = "kills_reader"
LONGEST = 600.0
_WORDS = ("ravens", "harbours", "lanterns", "orchards", "glaciers", "violins", "ferries", "maps")


class Own(Community):
    """A community without a ``weaviate.url``: whoever needs the server starts it."""

    def config(self) -> Path:
        """The settings file, written anew."""
        content = {
            "data_dir": str(self.server.data_dir),
            "cache_dir": str(self.server.cache_dir),
            "weaviate": {
                "binary": str(self.server.weaviate.binary),
                "collection": self.collection,
                "start_timeout": 300,
            },
            "matrix": self.matrix,
            "repositories": [
                {"name": name, "url": str(repository.path)}
                for name, repository in self.repositories.items()
            ],
        }
        path = self.folder / f"{self.collection}.toml"
        draft = path.with_suffix(".draft")
        draft.write_text(tomlkit.dumps(content), encoding="utf-8")
        draft.chmod(0o600)
        draft.replace(path)
        return path


@dataclass
class Scene:
    """Everything that lives through all chains of kills."""

    folder: Path
    server: Settings
    synapse: Synapse
    own: Own
    forks: Forks
    rooms: list[str]
    said: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    made: int = 0

    def news(self, rng: random.Random, much: int) -> None:
        """Up to so many changes in each room and repository, and now and then a purge."""
        for room in self.rooms:
            for _ in range(rng.randint(1, much)):
                self._talk(rng, room)
        for repository in self.own.repositories.values():
            files: dict[Any, Any] = {}
            for _ in range(rng.randint(1, much)):
                self.made += 1
                name = f"f{rng.randrange(3 * much)}.md"
                gone = rng.random() < 0.25
                files[name] = None if gone else f"# {name}\n\nPage {self.made}: {_prose(rng)}\n"
                if rng.random() < 0.1:
                    files |= {f"moved/{name}": files[name], name: None}
            if repository.tip() and rng.random() < 0.3:
                repository.amend(files, message=f"Amended {self.made}")
            else:
                repository.commit(files, message=f"Change {self.made}")
        if rng.random() < 0.3:
            room = rng.choice(self.rooms)
            event, _ = rng.choice(self.said[room])
            self.run("chat-purge", "--room", room, "--event", event)

    def _talk(self, rng: random.Random, room: str) -> None:
        self.made += 1
        said = self.said.setdefault(room, [])
        who = rng.choice(("ada", "bob"))
        words = f"Message {self.made} about {rng.choice(_WORDS)} and {rng.choice(_WORDS)}."
        act = rng.random() if len(said) > 1 else 1.0
        if act < 0.15:
            event, sender = rng.choice(said)
            self.synapse.edit(room, sender, event, f"{words} Edited.")
        elif act < 0.3:
            event, sender = said.pop(rng.randrange(len(said)))
            self.synapse.redact(room, sender, event)
        elif act < 0.4:
            event, _ = rng.choice(said)
            self.synapse.reply(room, who, event, words)
        else:
            said.append((self.synapse.send(room, who, words), who))

    def run(self, *arguments: str, of: Own | None = None) -> int:
        """A whole run of ``huginn``; its exit code."""
        run = self.forks.start(*arguments, config=(of or self.own).config())
        assert run.wait(LONGEST)
        assert run.code is not None
        return run.code

    def ahead(self) -> list[str]:
        """Sources whose cursor takes something for held that is not, of all that were ever read."""
        from tasks.bootstrap import open_store

        with self.own.configured() as settings:
            with open_store(settings) as store:
                known = store.ledger.records()
            return sorted(each for each in known if cursor_ahead(each))

    def stored(self, community: Own) -> dict[str, dict[str, Any]]:
        """All passages, without vectors, whose last digits differ by batch."""
        return without_vectors(community.passages())

    @contextmanager
    def clean(self, name: str) -> Iterator[Own]:
        """The same sources, to be read into a collection of their own, which is dropped after."""
        clean = Own(self.folder, self.server, name)
        clean.matrix, clean.repositories = self.own.matrix, self.own.repositories
        try:
            yield clean
        finally:
            _drop(clean)


def _prose(rng: random.Random) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(20, 120)))


def _drop(community: Own) -> None:
    from search.collection import ledger_name
    from search.connection import connect
    from search.reader import Reader

    with community.configured() as settings, connect(settings, "writer") as client:
        name = Reader(client, community.collection).resolve().name
        client.alias.delete(alias_name=community.collection)
        client.collections.delete(name)
        client.collections.delete(ledger_name(community.collection))


@contextmanager
def scene(folder: Path, binary: Path, api: str, synapse: Synapse) -> Iterator[Scene]:
    """Sources and a Weaviate below ``folder``; ``api`` is Prefect's."""
    server = settings_in(folder / "huginn", binary, start_timeout=300)
    own = Own(folder, server, "Chains")
    synapse.user(READER)
    own.reads(synapse, READER)
    own.repository("one")
    own.repository("two")
    rooms = [synapse.room("ada", "bob", READER) for _ in range(2)]
    try:
        with Forks(own.config(), folder, PREFECT_API_URL=api) as forks:
            yield Scene(folder, server, synapse, own, forks, rooms)
    finally:
        embedded.stop(server)
