"""Drills on rooms at full size; the suite has the same ones small.

    python -m tests.bench.chat_drill redactions [--messages 5000] [--redactions 200] --work FOLDER
    python -m tests.bench.chat_drill requests [--rooms 50] [--repositories 20] --work FOLDER

``redactions``: each message says a word of its own; some are redacted; after one run the words are
looked for in everything that Huginn keeps or says, and in the raw files of the store. What lingers
there is told by bucket, while the server runs, after it stopped, after it has run again for
``--wait`` seconds, and after a full re-read.

``requests``: what the homeserver was asked in a first run, in one with edits and redactions, and in
one with nothing new; then the same with repositories, and what git was asked.

``HUGINN_TEST_WEAVIATE_BINARY`` names a server to run, as for the tests.
"""

import argparse
import os
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from search import embedded
from search.settings import Settings
from tests.support.community import Community
from tests.support.huginn_command import Ran, huginn
from tests.support.prefect_api import running_api
from tests.support.redaction_drill import Drill, owners
from tests.support.remains import (
    data_folder,
    found_by_keyword,
    sizes_of,
    words_by_kind,
    words_in,
    words_in_files,
)
from tests.support.synapse import Synapse, running_synapse
from tests.support.weaviate_server import running_server, settings_in, weaviate_binary

READER = "reader"
HEAVY = {"torch", "sentence_transformers", "prefect"}


@dataclass
class Scene:
    """Servers of its own, all in one folder."""

    folder: Path
    server: Settings
    synapse: Synapse
    community: Community
    prefect: Path
    api: str

    def refresh(self, *arguments: str) -> Ran:
        """``huginn refresh`` in a process of its own, with every log line that there is."""
        began = time.monotonic()
        ran = huginn(
            self.community,
            *(arguments or ("refresh",)),
            seconds=7_200,
            PREFECT_API_URL=self.api,
            PREFECT_LOGGING_LEVEL="DEBUG",
        )
        shown = ran.output.strip().splitlines()
        say(f"exit {ran.code} after {time.monotonic() - began:.0f} s: " + " / ".join(shown[-3:]))
        return ran


def say(line: str) -> None:
    """To standard output, at once."""
    print(time.strftime("%H:%M:%S"), line, flush=True)  # noqa: T201  # a script


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """Everything started, for the block."""
    settings = settings_in(folder / "huginn", weaviate_binary(), start_timeout=300)
    prefect = folder / "prefect"
    prefect.mkdir(parents=True)
    with (
        running_server(settings),
        running_api(prefect) as api,
        running_synapse(folder / "synapse") as synapse,
    ):
        place = folder / "community"
        place.mkdir()
        community = Community(place, settings, "Drill")
        synapse.user(READER)
        community.reads(synapse, READER)
        yield Scene(folder, settings, synapse, community, prefect, api)


def redactions(at: Scene, messages: int, count: int, wait: float) -> None:
    """Item by item, what is left of redacted words."""
    drill = Drill(at.synapse, READER, messages, count)
    began = time.monotonic()
    drill.say()
    say(f"{messages} messages and their edits sent in {time.monotonic() - began:.0f} s")
    at.refresh()
    held = words_by_kind(at.community)["passages"]
    say(f"before: {len(held & drill.kept)} of {len(drill.kept)} words that stay are held,")
    say(f"        {len(held & drill.gone)} that will go, {len(held)} in all")
    raw(at, drill, "before the redactions")
    drill.redact()
    say(f"{len(drill.targets)} messages redacted: {len(drill.gone)} words must be gone")
    ran = at.refresh()
    look(at, drill, ran, "after one refresh")
    raw(at, drill, "after one refresh, server running")
    embedded.stop(at.server)
    raw(at, drill, "server stopped")
    embedded.ensure_running(at.server, say)
    until = time.monotonic() + wait
    while time.monotonic() < until:
        time.sleep(min(30, wait))
        raw(at, drill, "started again, idle")
    ran = at.refresh("backfill", f"chat:{drill.room}")
    look(at, drill, ran, "after a full re-read")
    raw(at, drill, "after a full re-read")
    until = time.monotonic() + wait
    while time.monotonic() < until:
        time.sleep(min(30, wait))
        raw(at, drill, "after a full re-read, idle")


def look(at: Scene, drill: Drill, ran: Ran, when: str) -> None:
    """By the API, in what the run said and in what Prefect keeps."""
    held = words_by_kind(at.community)
    said = words_in(ran.output + ran.errors)
    lines = (ran.output + ran.errors).count("\n")
    prefect = words_in_files(at.prefect)
    ours = words_in_files(at.community.folder) | words_in_files(at.server.data_dir / "weaviate/run")
    found = owners(at.community, at.community.embedder(), drill.texts)
    lost = drill.kept - held["passages"]
    say(f"{when}: redacted or edited-out words found:")
    say(f"  passages, all properties: {len(held['passages'] & drill.gone)}; kept lost: {len(lost)}")
    say(f"  ledger and journal: {len(held['ledger'])} (of any word)")
    say(f"  Weaviate's keyword search: {len(found_by_keyword(at.community, drill.gone))}")
    say(f"  output of the run, {lines} lines at DEBUG: {len(said)} (of any word)")
    say(f"  Prefect's folder, {sum(sizes_of(at.prefect).values()):,} bytes: {prefect or 0}")
    say(f"  data, cache and log files of Huginn: {ours or 0}")
    say(
        f"  vectors: {found.windows} windows, {found.parts} parts, misfits {found.misfits or 0}, "
        f"nearest to a redacted text: cosine {found.nearest:.4f}"
    )


def raw(at: Scene, drill: Drill, when: str) -> None:
    """In the raw files of the store, by bucket and kind of file."""
    folder = data_folder(at.server)
    by_place: dict[str, set[str]] = defaultdict(set)
    stay: set[str] = set()
    for path, words in words_in_files(folder).items():
        place = Path(path)
        if words & drill.gone:
            by_place[f"{place.parent.name}/*{place.suffix}"] |= words & drill.gone
        stay |= words & drill.kept
    size = sum(sizes_of(folder).values())
    gone = set().union(*by_place.values())
    say(f"raw files, {when}: {size:,} bytes; {len(gone)} of {len(drill.gone)} words to go are in")
    for where, words in sorted(by_place.items()):
        say(f"  {where}: {len(words)}")
    say(f"  (control: {len(stay)} of {len(drill.kept)} words that stay)")


def requests(at: Scene, count: int, repositories: int) -> None:
    """The homeserver's own log, run by run."""
    rooms = []
    for number in range(count):
        room = at.synapse.room("ada", READER, alias=f"room{number}")
        events = [at.synapse.send(room, "ada", f"Words {turn} of {number}.") for turn in range(3)]
        rooms.append((room, events))
    asked(at, "first read", at.synapse.mark())
    since = at.synapse.mark()
    for room, events in rooms[:: max(count // 10, 1)]:
        at.synapse.edit(room, "ada", events[0], "Other words.")
        at.synapse.redact(room, "ada", events[1])
        at.synapse.send(room, "ada", "More words.")
    asked(at, "edits, redactions and messages in every tenth room", since)
    asked(at, "nothing new", at.synapse.mark())
    for number in range(repositories):
        at.community.repository(f"repo{number}").commit({"a.md": f"# A\n\nWords {number}.\n"})
    at.refresh()
    quiet(at)


def quiet(at: Scene) -> None:
    """Both corpora with nothing new: requests, git's commands, wall time, with and without API."""
    shim = at.folder / "shim"
    shim.mkdir(exist_ok=True)
    log = shim / "git.log"
    git = shim / "git"
    git.write_text(f'#!/bin/sh\necho "$@" >> "{log}"\nexec "{shutil.which("git")}" "$@"\n')
    git.chmod(0o700)
    path = f"{shim}:{os.environ['PATH']}"
    for what, api in (("with a Prefect server", at.api), ("without any", "")):
        log.unlink(missing_ok=True)
        since, begun = at.synapse.mark(), time.monotonic()
        ran = huginn(at.community, "refresh", PREFECT_API_URL=api, PATH=path)
        seconds = time.monotonic() - begun
        asked_for = at.synapse.requests(at.synapse.mxid(READER), since)
        lines = log.read_text().splitlines() if log.exists() else []
        verbs = Counter(
            next((word for word in line.split() if word in ("ls-remote", "fetch")), "other")
            for line in lines
        )
        say(f"both corpora, nothing new, {what}: exit {ran.code}, {seconds:.1f} s")
        say(f"  {len(asked_for)} requests {dict(Counter(method for method, _ in asked_for))}")
        say(f"  git: {dict(verbs)}; {ran.output.splitlines()[-1] if ran.output else ran.errors}")
        say(f"  loaded: {sorted(HEAVY & ran.loaded) or 'neither Prefect nor the model'}")


def asked(at: Scene, what: str, since: int) -> None:
    """One run, and what it asked."""
    ran = at.refresh()
    log = at.synapse.requests(at.synapse.mxid(READER), since)
    kinds = Counter(_kind(path) for _, path in log)
    rooms = Counter(_room(path) for _, path in log if _room(path))
    say(f"{what}: {len(log)} requests, methods {dict(Counter(method for method, _ in log))}")
    say(f"  {dict(kinds)}; at most {max(rooms.values(), default=0)} for one room")
    say(f"  loaded: {sorted(HEAVY & ran.loaded) or 'neither Prefect nor the model'}")


def _kind(path: str) -> str:
    parts = path.partition("?")[0].split("/")
    return next((each for each in parts[::-1] if each.isidentifier()), path)


def _room(path: str) -> str:
    parts = path.partition("?")[0].split("/")
    return unquote(parts[parts.index("rooms") + 1]) if "rooms" in parts else ""


def main() -> int:
    """The exit code is always 0: the numbers are to be read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("drill", choices=("redactions", "requests"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--messages", type=int, default=5_000)
    parser.add_argument("--redactions", type=int, default=200)
    parser.add_argument("--rooms", type=int, default=50)
    parser.add_argument("--repositories", type=int, default=20)
    parser.add_argument("--wait", type=float, default=120)
    options = parser.parse_args()
    with scene(options.work.absolute()) as at:
        if options.drill == "redactions":
            redactions(at, options.messages, options.redactions, options.wait)
        else:
            requests(at, options.rooms, options.repositories)
    return 0


if __name__ == "__main__":
    sys.exit(main())
