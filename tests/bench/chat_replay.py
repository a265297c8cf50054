"""Conversations in a real Synapse: 50 increments against one go (spec 2.4, 4.3, 4.6).

    python -m tests.bench.chat_replay EVAL --work FOLDER --keep FOLDER [--rooms 15] [--most N]
        [--portions 50] [--seed 4]

EVAL holds ``chat/locomo-dev.json`` and ``chat/irc-dev.json``. Their rooms (the first ``--rooms``,
of each the first ``--most`` messages) are sent by their speakers at their own times into a
homeserver in ``--keep``, in portions: a portion goes on in about a third of the rooms, some
messages come a portion late with their early times, and edits and redactions are strewn in, all
drawn from ``--seed``. After each portion one run brings a collection up to date, step by step as
the flow does it. At the end the homeserver is stopped and copied, and the flow ``refresh`` reads
the copy into a collection of its own in one go: both must hold the same passages, all properties
but the time of ingestion, and vectors that differ by rounding only.

The texts embedded in the increments must be at most those of one go and those of the segments that
each increment changed; changed is what has another fingerprint than before it, whatever a run
wrote. With ``--keep`` filled before, only the copy is read in one go.

``HUGINN_TEST_WEAVIATE_BINARY`` names a server to run, as for the tests.
"""

import argparse
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from search.settings import Settings
from tests.support.community import Community, without_vectors
from tests.support.prefect_api import drain_workers, running_api
from tests.support.synapse import copied, running_synapse
from tests.support.synapse_community import People
from tests.support.weaviate_server import running_server, settings_in, weaviate_binary

READER = "reader"
SENDERS = 4
EDITS, REDACTIONS = 5, 2
TOLERANCE = 1e-3
"""Between a vector's numbers here and there: batches of other lengths round otherwise."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the conversations."""

    name: str
    at: datetime
    text: str


@dataclass(slots=True)
class Sent:
    """A message on the homeserver: ``edits`` are those in force, newest last."""

    said: Said
    event: str
    edits: list[str] = field(default_factory=list)


Portion = dict[str, list[Said]]
Segments = dict[tuple[str, str, str], dict[str, tuple[str, int]]]
"""By source, thread and name: the fingerprint and the number of texts of each window, by id."""


def say(line: str) -> None:
    """To standard output, at once."""
    print(time.strftime("%H:%M:%S"), line, flush=True)  # noqa: T201  # a script


def conversations(folder: Path, rooms: int, most: int | None) -> dict[str, list[Said]]:
    """The messages of each room, in the order of the files."""
    found = {}
    for name in ("locomo-dev", "irc-dev"):
        for room in json.loads((folder / "chat" / f"{name}.json").read_text())["rooms"]:
            found[room["room"]] = [
                Said(slug(each["sender"]), datetime.fromisoformat(each["time"]), each["text"])
                for each in room["messages"][:most]
            ]
    return dict(list(found.items())[:rooms])


def slug(name: str) -> str:
    """A local part for a name; names that it changes stay apart by a digest."""
    plain = re.sub(r"[^a-z0-9.=-]", "", name.lower())
    return plain if plain == name else f"{plain}-{sha256(name.encode()).hexdigest()[:6]}"


def cut(talk: Mapping[str, list[Said]], portions: int, draw: Random) -> list[Portion]:
    """Each room goes on in about a third of the portions; some messages come a portion late."""
    found: list[Portion] = [{} for _ in range(portions)]
    for room, messages in talk.items():
        pieces = min(max(portions // 3, 1), len(messages))
        turns = sorted(draw.sample(range(portions), pieces))
        ends = [*sorted(draw.sample(range(1, len(messages)), pieces - 1)), len(messages)]
        late: list[Said] = []
        start = 0
        for turn, end in zip(turns, ends, strict=True):
            some, start = messages[start:end], end
            held = (
                [some.pop(draw.randrange(len(some)))] if len(some) > 1 and turn != turns[-1] else []
            )
            found[turn][room], late = [*some, *late], held
    return found


@dataclass
class Filling:
    """What was sent into the rooms of ``ids``; ``sent`` are messages not redacted."""

    people: People
    ids: dict[str, str] = field(default_factory=dict)
    sent: dict[str, list[Sent]] = field(default_factory=lambda: defaultdict(list))
    edits: int = 0
    redactions: int = 0

    def open(self, talk: Mapping[str, list[Said]]) -> None:
        """Makes the rooms, and everybody in them."""
        with ThreadPoolExecutor(SENDERS) as pool:
            self.ids = dict(zip(talk, pool.map(self._room, talk.values()), strict=True))

    def send(self, portion: Portion) -> int:
        """Sends a portion, several rooms at once, each in order; gives the number of messages."""
        with ThreadPoolExecutor(SENDERS) as pool:
            return sum(pool.map(self._send, portion, portion.values()))

    def strew(self, draw: Random) -> None:
        """Some edits, redactions of messages, and the redaction of an edit; none before a word."""
        if not any(self.sent.values()):
            return
        for number in range(EDITS):
            room, sent = self._any(draw)
            text = f"{sent.said.text} (corrected, {draw.randrange(1_000)})"
            at = sent.said.at + timedelta(minutes=draw.randrange(1, 600), seconds=number)
            people, name = self.people, sent.said.name
            sent.edits.append(people.edit(self.ids[room], name, sent.event, text, at))
            self.edits += 1
        for _ in range(REDACTIONS):
            room, sent = self._any(draw)
            self.people.redact(self.ids[room], sent.said.name, sent.event)
            self.sent[room].remove(sent)
            self.redactions += 1
        edited = [(room, each) for room in self.ids for each in self.sent[room] if each.edits]
        if edited:
            room, sent = draw.choice(edited)
            self.people.redact(self.ids[room], sent.said.name, sent.edits.pop())
            self.redactions += 1

    def _room(self, messages: list[Said]) -> str:
        names = dict.fromkeys(each.name for each in messages)
        return self.people.room(next(iter(names)), *list(names)[1:], READER)

    def _send(self, room: str, messages: list[Said]) -> int:
        for each in messages:
            event = self.people.send(self.ids[room], each.name, each.text, each.at)
            self.sent[room].append(Sent(each, event))
        return len(messages)

    def _any(self, draw: Random) -> tuple[str, Sent]:
        room = draw.choice([each for each in self.ids if self.sent[each]])
        return room, draw.choice(self.sent[room])


def increment(community: Community) -> tuple[int, int]:
    """One run as the flow does it, without Prefect: texts embedded, and rooms that were due."""
    from tasks import rooms
    from tasks.alone import alone
    from tasks.bootstrap import open_chat
    from tasks.commit import commit
    from tasks.discover_rooms import discover, settled

    embedded = 0
    with community.configured() as settings:
        with open_chat(settings) as chat:
            found = discover(chat)
        if found.gone or found.unavailable:
            raise SystemExit(f"not read: {found.gone | found.unavailable}")
        with open_chat(settings) as chat:
            for room in found.due:
                context = chat.room(room)
                with alone(context.source):
                    rooms.begin(context)
                    done = False
                    while not done:
                        step = rooms.upsert(context)
                        commit(chat.store, step)
                        embedded += step.counts.embedded
                        done = step.finished
            if found.reached is not None and not found.nothing_to_do:
                settled(chat.store.ledger, found.reached)
    return embedded, len(found.due)


def segments(community: Community) -> Segments:
    """What is stored, by segment."""
    from search.connection import connect
    from search.reader import Reader

    found: Segments = defaultdict(dict)
    names = ["source", "thread", "segment", "fingerprint", "events"]
    with community.configured() as settings, connect(settings, "reader") as client:
        collection = client.collections.get(Reader(client, community.collection).resolve().name)
        for item in collection.iterator(return_properties=names):
            facts: Mapping[str, Any] = item.properties
            key = (str(facts["source"]), str(facts["thread"]), str(facts["segment"]))
            texts = 1 + len(facts["events"])
            found[key][str(item.uuid)] = (str(facts["fingerprint"]), texts)
    return dict(found)


def texts_of_changed(before: Segments, after: Segments) -> tuple[int, int]:
    """The texts of the segments that are not as they were, and how many segments that are."""
    changed = [windows for key, windows in after.items() if before.get(key) != windows]
    return sum(texts for each in changed for _, texts in each.values()), len(changed)


def fill(
    community: Community, people: People, talk: Mapping[str, list[Said]], portions: int, seed: int
) -> tuple[int, int]:
    """Sends everything with a run after each portion: texts embedded, and of changed segments."""
    draw = Random(seed)  # noqa: S311  # a draw that can be repeated, no secret
    filling = Filling(people)
    began = time.monotonic()
    filling.open(talk)
    say(f"{len(talk)} rooms with their speakers made in {time.monotonic() - began:.0f} s")
    embedded = of_changed = messages = 0
    sending = running = 0.0
    before: Segments = {}
    for number, portion in enumerate(cut(talk, portions, draw), 1):
        began = time.monotonic()
        here = filling.send(portion)
        filling.strew(draw)
        sent = time.monotonic()
        texts, due = increment(community)
        done = time.monotonic()
        after = segments(community)
        bound, changed = texts_of_changed(before, after)
        before = after
        embedded, of_changed, messages = embedded + texts, of_changed + bound, messages + here
        sending, running = sending + sent - began, running + done - sent
        say(
            f"increment {number}: {here} messages, {due} rooms due, {texts} texts embedded, "
            f"{changed} segments changed with {bound} texts; "
            f"sent in {sent - began:.0f} s, run {done - sent:.0f} s"
        )
    say(
        f"in all {messages} messages, {filling.edits} edits, {filling.redactions} redactions: sent "
        f"in {sending:.0f} s, the {portions} runs {running:.0f} s"
    )
    return embedded, of_changed


def compare(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tells what differs; whether all is the same."""
    plain, others = without_vectors(dict(one)), without_vectors(dict(other))
    both = plain.keys() & others.keys()
    different = sum(plain[each] != others[each] for each in both)
    farthest = max(
        (
            float(np.abs(np.asarray(numbers) - np.asarray(other[each]["vectors"][name])).max())
            for each in both
            if plain[each] == others[each]
            for name, numbers in one[each]["vectors"].items()
        ),
        default=0.0,
    )
    say(
        f"passages: {len(one)} by increments, {len(other)} in one go; only by increments "
        f"{len(plain.keys() - others.keys())}, only in one go {len(others.keys() - plain.keys())}, "
        f"different {different}; farthest numbers of two vectors {farthest:.5f}"
    )
    return plain == others and farthest <= TOLERANCE


@contextmanager
def prefect(home: Path) -> Iterator[None]:
    """A Prefect server for the flows of this process."""
    home.mkdir(parents=True)
    with running_api(home) as address:
        from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

        with temporary_settings({PREFECT_API_URL: address, PREFECT_HOME: home}):
            yield
            drain_workers()


def one_go(settings: Settings, work: Path, kept: Path) -> tuple[Community, int]:
    """The flow over a copy of the homeserver: the community, and the texts embedded."""
    place = work / "one-go"
    place.mkdir()
    community = Community(place, settings, "OneGo")
    with (
        running_synapse(copied(kept, work / "copy")) as people,
        prefect(work / "prefect"),
    ):
        community.reads(people, READER)
        began = time.monotonic()
        outcomes = community.refresh()
    failed = [each.reason for each in outcomes.values() if each.result != "done"]
    counts = [each.counts for each in outcomes.values() if each.counts is not None]
    embedded = sum(each.embedded for each in counts)
    say(
        f"one go by the flow, over a copy: {len(outcomes)} rooms, "
        f"{sum(each.events for each in counts)} events, {embedded} texts embedded in "
        f"{time.monotonic() - began:.0f} s; failed: {failed or 'none'}"
    )
    return community, embedded


def main() -> int:
    """The exit code is 1 if anything differs, or too much was embedded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("eval", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--rooms", type=int, default=15)
    parser.add_argument("--most", type=int)
    parser.add_argument("--portions", type=int, default=50)
    parser.add_argument("--seed", type=int, default=4)
    options = parser.parse_args()
    work, kept = options.work.absolute(), options.keep.absolute()
    done = kept / "complete"
    talk = conversations(options.eval, options.rooms, options.most)
    say(f"{sum(map(len, talk.values()))} messages of {len(talk)} rooms: {', '.join(talk)}")
    settings = settings_in(work / "huginn", weaviate_binary(), start_timeout=300)
    with running_server(settings):
        if done.exists():
            one_go(settings, work, kept / "homeserver")
            return 0
        place = work / "increments"
        place.mkdir()
        community = Community(place, settings, "Increments")
        with running_synapse(kept / "homeserver") as people:
            people.user(READER)
            community.reads(people, READER)
            texts, of_changed = fill(community, people, talk, options.portions, options.seed)
        done.touch()
        clean, at_once = one_go(settings, work, kept / "homeserver")
        same = compare(community.passages(), clean.passages())
    bound = at_once + of_changed
    say(
        f"texts embedded: one go {at_once}, increments {texts}; bound {bound}: those of one go and "
        f"{of_changed} of the segments that each increment changed"
    )
    say("the same" if same else "NOT THE SAME")
    return 0 if same and texts <= bound else 1


if __name__ == "__main__":
    sys.exit(main())
