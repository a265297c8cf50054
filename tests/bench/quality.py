"""How good is what a look-up finds? Measured on the product's own path (docs/quality.md).

    python -m tests.bench.quality EVAL --synapse REPOSITORY --work FOLDER [--binary FILE]
        [--alpha A] [--unfiltered] [--values FILE] [--against FILE]

EVAL holds the sets (its README says which); nothing of them goes into this repository. REPOSITORY
is a clone of matrix-org/synapse. Chat: raw events → messages → segments → scrubbed → windows →
vectors → the writer. Files: a git repository of one commit for each set, read by ``huginn
refresh``, commit messages off. All of it stands in one collection in FOLDER; what it holds from a
run before is not embedded again. Every question is asked by ``search.lookups.search`` as a user's
is, of the sources of its set, or of everything with ``--unfiltered``.

``--values`` keeps the values of each question; ``--against`` compares with such a file, question by
question: mean difference, bootstrap interval of 95 %, p of a sign-flip test.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import log2
from pathlib import Path
from typing import Any

import numpy as np

import search.reader
from search.connection import connect
from search.errors import CollectionMissing
from search.hits import Hit
from search.ledger import SourceRecord
from search.lookups import search as look_up
from search.passage import Passage
from search.query import MAX_TOP_K, query
from search.reader import Reader
from search.settings import Settings
from tasks.bootstrap import chat_version, embedder_of, open_store, scrubber_of
from tasks.chat_ports import RawEvent
from tasks.domain.batches import batched
from tasks.domain.messages import seen
from tasks.domain.room_scrub import scrubbed
from tasks.domain.segments import segments
from tasks.domain.windows import chat_passages, windows
from tasks.vectorise import vectorised
from tests.bench.forge_home import Home, records, say
from tests.bench.quality_sets import (
    CHAT,
    DOCS,
    SERVER,
    QualitySet,
    as_repository,
    chat_set,
    cranfield,
    synapse_docs,
)

AT_ONCE = 400
Values = dict[str, list[float]]


@dataclass(slots=True)
class Found:
    """What came out: values by measure, and the bytes of the first ten hits of each set."""

    values: Values = field(default_factory=lambda: defaultdict(list))
    sizes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


def room_passages(room: str, events: Iterable[RawEvent], settings: Settings) -> list[Passage]:
    """The passages of a room's main timeline, by the rules that a run goes by."""
    embedder, rules = embedder_of(settings.embedder), chat_version(settings)
    messages = [each for event in events if (each := seen(event, notices=True).message)]
    made: list[Passage] = []
    for segment in segments(messages):
        clean, _ = scrubbed(segment, scrubber_of())
        packed = windows(
            clean,
            count_tokens=embedder.count_tokens,
            token_limit=embedder.identity.token_limit,
        )
        made += chat_passages(room, "", packed, rules=rules)
    return made


def fill_rooms(sets: Iterable[QualitySet], settings: Settings) -> None:
    """Writes the rooms; vectors that the collection holds are read back."""
    embedder, now = embedder_of(settings.embedder), datetime.now(UTC)
    identity = f"https://matrix.{SERVER} as @reader:{SERVER}"
    with open_store(settings) as store:
        for room, events in ((r, e) for each in sets for r, e in each.rooms.items()):
            passages = room_passages(room, events, settings)
            for some in batched(passages, AT_ONCE):
                pairs, embedded, _ = vectorised(some, store.writer, embedder)
                written = store.writer.write(pairs)
                assert written == {passage.id for passage in some}
                say(f"{room}: {len(written)} windows, {embedded} texts embedded")
            store.ledger.put(
                SourceRecord(
                    f"chat:{room}",
                    state="current",
                    identity=identity,
                    last_attempt=now,
                    last_success=now,
                )
            )


def holds(settings: Settings, repositories: Iterable[str]) -> bool:
    """Whether a run before has read them all; once rooms stand there, a refresh asks for theirs."""
    try:
        held = records(settings)
    except CollectionMissing:
        return False
    found = [held.get(f"repo:{name}") for name in repositories]
    return all(record and record.last_success for record in found)


def measured(name: str, relevant: frozenset[str], hits: Sequence[Hit]) -> dict[str, float]:
    """The measures of the set, as the README beside the data defines them."""
    if name in CHAT:
        held = [{turn.event for turn in hit.turns} & relevant for hit in hits]
        if name == "irc-dev":
            return {"hit@10": float(any(held[:10]))}
        return {f"recall@{k}": len(set().union(*held[:k])) / len(relevant) for k in (5, 10)}
    paths = list(dict.fromkeys(str(getattr(hit.citation, "path", "")) for hit in hits))
    if name == DOCS:
        return {"recall@1": len(relevant & {*paths[:1]}) / len(relevant)}
    gain = sum(1 / log2(rank + 1) for rank, path in enumerate(paths[:10], 1) if path in relevant)
    return {"nDCG@10": gain / sum(1 / log2(rank + 1) for rank in range(1, len(relevant) + 1)[:10])}


def ask_all(sets: Iterable[QualitySet], settings: Settings, *, filtered: bool) -> Found:
    """Asks every question: its first text, and for IRC also all of its texts as one look-up."""
    found = Found()
    with connect(settings, "reader") as client:
        reader = Reader(client, settings.weaviate.collection)
        for each in sets:
            scope: dict[str, Any] = {}
            if filtered:
                scope = {"rooms": [*each.rooms]} if each.rooms else {"repositories": [each.name]}
            for question in each.questions:
                ways = {"": question.texts[:1]}
                if each.name == "irc-dev":
                    ways[", three texts"] = question.texts
                for way, texts in ways.items():
                    answer = look_up(
                        query(texts, top_k=MAX_TOP_K, **scope),
                        reader=reader,
                        settings=settings,
                        embedder=lambda _: embedder_of(settings.embedder),
                    )
                    for measure, value in measured(
                        each.name, question.relevant, answer.hits
                    ).items():
                        found.values[f"{each.name} {measure}{way}"].append(value)
                    if not way:
                        found.sizes[each.name] += [hit.bytes for hit in answer.hits[:10]]
    return found


def paired(before: Sequence[float], after: Sequence[float]) -> str:
    """The mean of after - before over the same questions, its 95 % interval, and p."""
    draw, difference = np.random.default_rng(1), np.array(after) - np.array(before)
    shape = (4000, len(difference))
    means = difference[draw.integers(0, len(difference), shape)].mean(axis=1)
    flipped = (draw.choice([-1.0, 1.0], shape) * difference).mean(axis=1)
    p = (np.sum(np.abs(flipped) >= abs(difference.mean()) - 1e-12) + 1) / 4001
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{difference.mean():+.3f} [{low:+.3f}, {high:+.3f}] | {p:.3f}"


def report(found: Found, against: Mapping[str, Sequence[float]]) -> None:
    """The table, in Markdown."""
    more = (" difference, 95 % | p |", " --- | --- |") if against else ("", "")
    say(f"\n| set, measure | questions | value | bytes per hit |{more[0]}")
    say(f"| --- | --- | --- | --- |{more[1]}")
    for name, values in found.values.items():
        size = np.mean(found.sizes[name.partition(" ")[0]])
        row = f"| {name} | {len(values)} | {np.mean(values):.3f} | {size:.0f} |"
        say(row + (f" {paired(against[name], values)} |" if against else ""))


def main() -> None:
    """Fill, ask, report."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("eval", type=Path)
    parser.add_argument("--synapse", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    for name in ("--binary", "--values", "--against"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--alpha", type=float, help="try another share of the vector side")
    parser.add_argument("--unfiltered", action="store_true", help="ask everything of everything")
    options = parser.parse_args()
    chats = [chat_set(options.eval, name) for name in CHAT]
    docs = [cranfield(options.eval), synapse_docs(options.eval, options.synapse)]
    places = {each.name: options.work / each.name for each in docs}
    for each in docs:
        as_repository(each.files, places[each.name])
    urls = {name: str(place) for name, place in places.items()}
    home = Home(options.work / "home", urls, options.binary, commit_messages=False)
    if options.alpha is not None:
        search.reader.ALPHA = options.alpha
    try:
        with home.settings() as settings:
            files_stand = holds(settings, urls)
        if not files_stand:
            home.refresh()
        with home.settings() as settings:
            fill_rooms(chats, settings)
            found = ask_all([*chats, *docs], settings, filtered=not options.unfiltered)
    finally:
        home.down()
    if options.values:
        options.values.write_text(json.dumps(found.values), encoding="utf-8")
    before = json.loads(options.against.read_text(encoding="utf-8")) if options.against else {}
    report(found, before)


if __name__ == "__main__":
    main()
