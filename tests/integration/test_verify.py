"""``huginn verify`` over a real Weaviate, a real Synapse and real git (spec 7.2)."""

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tasks.adapters import stored_objects
from tasks.adapters.passage_writer import WeaviatePassageWriter
from tasks.domain import cursors
from tasks.domain.verification import Finding
from tasks.in_flight import IN_FLIGHT
from tasks.verify import cursor_ahead, verified
from tests.support import damage
from tests.support.community import Community
from tests.support.held_rooms import at
from tests.support.huginn_command import huginn
from tests.support.other_model import other_model
from tests.support.remains import KEPT, made_up, objects, words_in, words_in_files
from tests.support.synapse import Synapse

WORD = made_up(KEPT, 70_007)
"""Stands in every text: it may be nowhere in what verify says or writes down."""

GUIDE = {f"part{n}.md": f"# Part {n}\n\nThe barn of {WORD}, number {n}.\n" for n in range(8)}
BOUNDS = (at(100) - timedelta(seconds=1), at(200))


@dataclass
class Place:
    """Both corpora after several runs: nothing is left to do."""

    community: Community
    room: str
    repository: str = "repo:one"

    @property
    def chat(self) -> str:
        return f"chat:{self.room}"

    @property
    def sources(self) -> tuple[str, str]:
        return self.chat, self.repository


@pytest.fixture
def place(chat: Community, synapse: Synapse, reader: str) -> Place:
    """Threads, edits, redactions, a redacted edit, a purge; files that change and go, commits."""
    one = chat.repository("one")
    one.commit({**GUIDE, "old.md": f"{WORD} is gone soon.\n", "f.py": "X = 1\n"})
    room = synapse.room("ada", "bob", reader)
    sent = [
        synapse.send(room, ("ada", "bob")[n % 2], f"Word {n} of {WORD}.", at(n * 45))
        for n in range(20)
    ]
    far = [
        synapse.send(room, "ada", f"Much later, {n}: {WORD}", at(2_000 + 90 * n)) for n in range(5)
    ]
    synapse.reply(room, "bob", sent[2], f"In a thread: {WORD}", at(30))
    chat.refresh()
    synapse.edit(room, "ada", sent[6], f"The gate of {WORD} is blue.", at(3_000))
    taken_back = synapse.edit(room, "bob", sent[7], f"Never mind {WORD}.", at(3_001))
    synapse.redact(room, "bob", sent[9])
    synapse.redact(room, "ada", far[1])
    synapse.reply(room, "ada", sent[2], f"And an answer: {WORD}", at(310))
    one.commit({"part3.md": f"# A mill\n\n{WORD}\n", "old.md": None}, message="Paint it")
    chat.refresh()
    synapse.redact(room, "bob", taken_back)
    purge(chat, room)
    chat.refresh()
    return Place(chat, room)


def purge(chat: Community, room: str) -> None:
    from flows.purging import purge as say

    first, last = (each.isoformat() for each in BOUNDS)
    options = {"room": room, "first": first, "last": last}
    with chat.configured():
        say({**options, "sender": None, "event": None, "everything": False}, now=False, yes=True)


def verify(community: Community, source: str | None = None, **options: bool) -> dict[str, Finding]:
    """The flow ``verify``; findings by source, also when the run failed."""
    from flows.findings import SourcesDiffer
    from flows.verify import verify as flow

    with community.configured():
        try:
            findings, named = flow(source, **options), ()
        except SourcesDiffer as error:
            findings, named = list(error.findings), error.sources
    assert set(named) == {each.source for each in findings if each.failed}
    found = {each.source: each for each in findings}
    assert len(found) == len(findings)
    return found


def everything(community: Community) -> list[str]:
    """All objects of both collections, times of ingestion and notes included."""
    return sorted(
        json.dumps([kind, facts], default=str, sort_keys=True) for kind, facts in objects(community)
    )


def test_what_runs_left_is_what_the_sources_give_and_the_command_only_says_so(
    place: Place, synapse: Synapse, prefect_api: str
) -> None:
    chat = place.community
    before = everything(chat)
    told = huginn(chat, "verify", "--json", PREFECT_API_URL=prefect_api)
    assert (told.code, told.errors) == (0, "")
    counts = {source: len(chat.passages(source)) for source in place.sources}
    assert min(counts.values()) > len(damage.ALL)
    document = json.loads(told.output)
    assert document["schema"] == "huginn.verify/1"
    same = {"result": "same", "differences": {}, "ids": [], "behind": None, "reason": None}
    assert {each["source"]: each for each in document["sources"]} == {
        source: {"source": source, "passages": count, **same} for source, count in counts.items()
    }
    assert not {"torch", "sentence_transformers"} & told.loaded
    assert words_in(told.output) == set()
    with chat.configured():
        assert [cursor_ahead(source) for source in place.sources] == [[], []]
    assert everything(chat) == before

    synapse.send(place.room, "bob", "Something new.", at(4_000))
    tip = chat.repositories["one"].commit({"new.md": "Something new.\n"})
    with chat.configured():
        room, repository = (verified(source) for source in place.sources)
    assert (room.result, room.behind) == ("same", "1 events came since")
    assert repository.result == "same"
    assert f"is at {tip[:12]}" in str(repository.behind)
    assert everything(chat) == before


def test_every_kind_of_damage_is_found_and_named_and_mended(
    place: Place, prefect_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = place.community
    clean = {source: chat.passages(source).keys() for source in place.sources}
    hurt = {source: damage.do_all(chat, source) for source in place.sources}
    one_each = dict.fromkeys(damage.ALL, 1)
    hidden, cut_in_two = sorted(clean[place.repository] - hurt[place.repository])[:2]
    hide({hidden, cut_in_two}, monkeypatch)
    with damage.live(chat) as (_, ledger):  # what a batch left is for the next run to look at
        ledger.put_document(IN_FLIGHT, json.dumps([cut_in_two]), place.repository)
    before = everything(chat)

    found = verify(chat)
    assert found.keys() == set(place.sources)
    for source in place.sources:
        kinds = one_each | ({"hidden": 1} if source == place.repository else {})
        assert (found[source].result, dict(found[source].differences)) == ("different", kinds)
        assert hurt[source] <= set(found[source].ids)
    assert hidden in found[place.repository].ids
    assert everything(chat) == before

    mended = verify(chat, repair=True)
    assert {each.result for each in mended.values()} == {"mended"}
    assert {source: chat.passages(source).keys() for source in place.sources} == clean
    again = verify(chat)
    assert {each.result for each in again.values()} == {"same"}
    assert WORD not in set().union(*words_in_files(prefect_home).values())


def hide(ids: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the survey's questions miss passages, as broken indexes would, until they are gone."""
    from weaviate.classes.query import Filter

    blind = set(ids)
    asking, expunge = stored_objects._asking_for, WeaviatePassageWriter.expunge

    def missing(alike: list[Any]) -> Any:
        chosen = asking(alike)
        for each in blind:
            chosen &= Filter.by_id().not_equal(each)
        return chosen

    def mended(writer: WeaviatePassageWriter, ids: list[str]) -> None:
        blind.difference_update(ids)
        expunge(writer, ids)

    monkeypatch.setattr(stored_objects, "_asking_for", missing)
    monkeypatch.setattr(WeaviatePassageWriter, "expunge", mended)


def test_cursors_that_are_ahead_orphans_and_what_cannot_be_read_are_named(
    chat: Community, synapse: Synapse, reader: str, prefect_api: str
) -> None:
    room = synapse.room("ada", reader)
    synapse.send(room, "ada", "The first word.", at(0))
    for name in ("ahead", "counted", "orphan", "gone", "left"):
        chat.repository(name).commit({"a.md": f"# {name}\n\nWords of it.\n"})
    chat.refresh()
    tip = chat.repositories["ahead"].commit({"b.md": "Never read.\n"})
    synapse.send(room, "ada", "Never read.", at(500))
    damage.tell(chat, "repo:ahead", lambda was: was.at(replace(was.cursor, commit=tip)))
    damage.tell(chat, f"chat:{room}", lambda was: was.at(replace(was.room, stream=now(chat))))
    damage.tell(chat, "repo:counted", lambda was: replace(was, passages=99))
    for name in ("orphan", "left"):
        chat.unlist(name)
    with damage.live(chat) as (_, ledger):
        ledger.forget("repo:orphan")
    chat.repositories["gone"].path.rename(chat.folder / "elsewhere")
    chat.repository("unread").commit({"a.md": "Not yet.\n"})

    told = huginn(chat, "verify", "--json", PREFECT_API_URL=prefect_api)
    assert (told.code, told.errors) == (1, "")
    found = {each["source"]: each for each in json.loads(told.output)["sources"]}
    assert {name: (each["result"], each["differences"]) for name, each in found.items()} == {
        "repo:ahead": ("different", {"missing": 2}),
        f"chat:{room}": ("different", {"missing": 1}),
        "repo:counted": ("different", {"count": 1}),
        "repo:orphan": ("different", {"orphan": 2}),
        "repo:gone": ("unverified", {}),
        "repo:unread": ("unverified", {}),
        "repo:left": ("leaving", {}),
    }
    assert "no run has read it yet" in found["repo:unread"]["reason"]
    assert "gone" in found["repo:gone"]["reason"]
    with chat.configured():
        assert len(cursor_ahead("repo:ahead")) == 2
        assert len(cursor_ahead(f"chat:{room}")) == 1
        assert cursor_ahead("repo:counted") == cursor_ahead("repo:unread") == []

    mended = verify(chat, repair=True)
    assert {each.source: each.result for each in mended.values()} == {
        "repo:ahead": "mended",
        f"chat:{room}": "mended",
        "repo:counted": "mended",
        "repo:orphan": "mended",
        "repo:gone": "unverified",
        "repo:unread": "unverified",
        "repo:left": "leaving",
    }
    assert chat.passages("repo:orphan") == {}
    assert {"Never read."} <= set(chat.texts("repo:ahead"))


def now(chat: Community) -> str:
    """The homeserver's stream token of this moment."""
    from tasks.bootstrap import open_homeserver

    with chat.configured() as settings, open_homeserver(settings) as homeserver:
        return homeserver.news(None).next


def test_while_a_rebuild_to_another_model_is_due_the_live_collection_is_verified_by_its_own(
    community: Community, tmp_path: Path
) -> None:
    community.repository("one").commit({"a.md": f"# One\n\n{WORD}\n"})
    community.refresh()
    community.embedding = {"model": str(other_model(tmp_path / "other"))}
    assert verify(community)["repo:one"].result == "same"
    with damage.live(community) as (collection, _):
        damage.reword(collection, min(community.passages()))
    mended = verify(community, repair=True)["repo:one"]
    assert (mended.result, dict(mended.differences)) == ("mended", {"text": 1})


def test_a_repair_that_would_delete_most_of_a_source_has_to_be_told_to(
    community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cursors, "GUARDED_FROM", 5)
    one = community.repository("one")
    first = one.commit({"a.md": "# A\n\nThe first.\n"})
    one.commit({"b.md": "# B\n\nThe second.\n", "c.md": "# C\n\nThe third.\n"})
    community.refresh()
    damage.tell(community, "repo:one", lambda was: was.at(replace(was.cursor, commit=first)))
    before = everything(community)
    found = verify(community, repair=True)["repo:one"]
    assert found.result == "unverified"
    assert "would delete 3 of 5" in str(found.reason)
    assert "`huginn verify --repair --allow-mass-delete`" in str(found.reason)
    assert everything(community) == before
    mended = verify(community, repair=True, allow_mass_delete=True)["repo:one"]
    assert (mended.result, dict(mended.differences)) == ("mended", {"extra": 3})
    assert len(community.passages()) == 5
