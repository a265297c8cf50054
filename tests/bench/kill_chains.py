"""Random kills of the run and of Weaviate, each falling into the recovery from the one before.

    python -m tests.bench.kill_chains --work FOLDER [--chains 12] [--kills 5] [--seed 1]
                                      [--minutes M] [--log FILE]

Rooms and repositories together. In a chain there is news, a run begins, and at a random moment of
it the run's process or Weaviate is killed with SIGKILL; the next run begins at once, and so on.
After each kill, before the next run, no cursor may be ahead of the passages. After the last, a run
goes through: the passages must equal those of a clean run into a collection of its own, and
``huginn verify`` must find nothing. Each chain appends a line to ``--log``; the seed of a chain is
``--seed`` plus its number, and ``--first N`` goes on with chain N.

``HUGINN_TEST_WEAVIATE_BINARY`` names a server to run, as for the tests.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
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
from tests.support.prefect_api import running_api
from tests.support.refresh_forks import Forks
from tests.support.synapse import Synapse, running_synapse
from tests.support.weaviate_server import settings_in, weaviate_binary

READER = "reader"
LONGEST = 600


class Own(Community):
    """A community whose Weaviate the product starts by itself, again after each kill."""

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
    """Everything that lives for the whole run."""

    folder: Path
    server: Settings
    synapse: Synapse
    own: Own
    forks: Forks
    rooms: list[str]
    said: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    made: int = 0

    def news(self, rng: random.Random, much: int) -> None:
        """Messages, edits, redactions and threads; changed, renamed and deleted files; amends."""
        for room in self.rooms:
            said = self.said.setdefault(room, [])
            for _ in range(rng.randint(1, much)):
                self.made += 1
                who = rng.choice(("ada", "bob"))
                words = f"Message {self.made} about {rng.choice(WORDS)} and {rng.choice(WORDS)}."
                act = rng.random()
                if said and act < 0.15:
                    event, sender = rng.choice(said)
                    self.synapse.edit(room, sender, event, f"{words} Edited.")
                elif said and act < 0.3:
                    event, sender = said.pop(rng.randrange(len(said)))
                    self.synapse.redact(room, sender, event)
                elif said and act < 0.4:
                    event, _ = rng.choice(said)
                    self.synapse.reply(room, who, event, words)
                else:
                    said.append((self.synapse.send(room, who, words), who))
        for repository in self.own.repositories.values():
            files: dict[Any, Any] = {}
            for _ in range(rng.randint(1, much)):
                self.made += 1
                name = f"f{rng.randrange(3 * much)}.md"
                gone = rng.random() < 0.2
                files[name] = None if gone else f"# {name}\n\nPage {self.made}: {_prose(rng)}\n"
            if repository.tip() and rng.random() < 0.3:
                repository.amend(files, message=f"Amended {self.made}")
            else:
                repository.commit(files, message=f"Change {self.made}")

    def ahead(self) -> list[str]:
        """Of sources whose cursor takes something for held that is not."""
        with self.own.configured():
            return sorted(each for each in self.known() if cursor_ahead(each))

    def known(self) -> set[str]:
        """Sources that a run has ever begun on."""
        from tasks.bootstrap import open_store

        with self.own.configured() as settings, open_store(settings) as store:
            return set(store.ledger.records())

    def stored(self, community: Own) -> dict[str, dict[str, Any]]:
        """All passages, without vectors, whose last digits differ by batch."""
        return without_vectors(community.passages())


WORDS = ("ravens", "harbours", "lanterns", "orchards", "glaciers", "violins", "ferries", "maps")


def _prose(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(20, 120)))


def chain(at: Scene, seed: int, kills: int) -> dict[str, Any]:
    """One chain; ``wrong`` tells what did not hold, and is empty if all did."""
    rng = random.Random(seed)  # noqa: S311  # a seed makes a chain again
    wrong: list[str] = []
    struck: list[dict[str, Any]] = []
    at.news(rng, 40)
    length = 8.0
    while len(struck) < kills:
        if rng.random() < 0.4:
            at.news(rng, 12)
        begun = time.monotonic()
        run = at.forks.start("refresh", config=at.own.config())
        moment = rng.uniform(0, length)
        if run.wait(moment):  # it was quicker than thought: more news, and sooner
            length = max(1.0, (time.monotonic() - begun) * 0.8)
            at.news(rng, 40)
            continue
        server = embedded.running(at.server)
        what = rng.choice(("run", "weaviate")) if server else "run"
        pid = server.pid if server and what == "weaviate" else run.pid
        os.kill(pid, signal.SIGKILL)
        if not run.wait(LONGEST):
            wrong.append(f"kill {len(struck) + 1}: the run did not end")
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
        ahead = at.ahead()
        if ahead:
            wrong.append(f"kill {len(struck) + 1}: cursors ahead: {ahead}")
        struck.append({"what": what, "at": round(moment, 2), "code": run.code})
    last = at.forks.start("refresh", config=at.own.config())
    last.wait()
    if last.code != 0:
        wrong.append(f"the last run ended with {last.code}")
    clean = Own(at.folder, at.server, f"Clean{seed}x{rng.randrange(10**6)}")
    clean.matrix, clean.repositories, clean.options = (
        at.own.matrix,
        at.own.repositories,
        at.own.options,
    )
    fresh = at.forks.start("refresh", config=clean.config())
    fresh.wait()
    passages, expected = at.stored(at.own), at.stored(clean)
    if passages != expected:
        odd = {key for key in passages.keys() | expected if passages.get(key) != expected.get(key)}
        wrong.append(f"{len(odd)} of {len(expected)} passages differ: {sorted(odd)[:5]}")
    verify = at.forks.start("verify", config=at.own.config())
    verify.wait()
    if verify.code != 0:
        wrong.append(f"verify ended with {verify.code}")
    _drop(clean)
    return {"seed": seed, "kills": struck, "passages": len(expected), "wrong": wrong}


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
def scene(folder: Path) -> Iterator[Scene]:
    """Servers and sources of its own, all below ``folder``."""
    server = settings_in(folder / "huginn", weaviate_binary(), start_timeout=300)
    prefect = folder / "prefect"
    prefect.mkdir(parents=True)
    own = Own(folder, server, "Chains")
    with running_api(prefect) as api, running_synapse(folder / "synapse") as synapse:
        synapse.user(READER)
        own.reads(synapse, READER)
        own.repository("one")
        own.repository("two")
        rooms = [synapse.room("ada", "bob", READER) for _ in range(2)]
        log = folder / "runs.log"
        try:
            with Forks(own.config(), log, PREFECT_API_URL=api) as forks:
                yield Scene(folder, server, synapse, own, forks, rooms)
        finally:
            embedded.stop(server)


def main() -> int:
    """0 if everything held in every chain, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--chains", type=int, default=12)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=10_000.0)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    total: Counter[str] = Counter()
    with scene(options.work.absolute()) as at:
        for number in range(options.first, options.first + options.chains):
            if time.monotonic() > deadline:
                break
            told = chain(at, options.seed + number, options.kills)
            line = json.dumps(told)
            print(line, flush=True)  # noqa: T201  # a script
            if options.log:
                with options.log.open("a", encoding="utf-8") as log:
                    log.write(line + "\n")
            total["chains"] += 1
            total["wrong"] += bool(told["wrong"])
            total.update(f"kills of {each['what']}" for each in told["kills"])
    print(dict(total), flush=True)  # noqa: T201
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
