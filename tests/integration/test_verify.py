"""``huginn verify`` over a real Weaviate, a real Synapse and real git (spec 7.2)."""

import json
import logging
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tasks.domain.verification import Finding
from tasks.verify import cursor_ahead, verified
from tests.support import damage
from tests.support.community import Community
from tests.support.held_rooms import at
from tests.support.huginn_command import huginn
from tests.support.remains import objects
from tests.support.synapse import Synapse

GUIDE = "# Guide\n\nThe barn is red.\n\n## Water\n\nThe well is behind the mill.\n"
CODE = "def well():\n    return 'behind the mill'\n\n\ndef barn():\n    return 'red'\n"


def verify(community: Community, source: str | None = None, **options: bool) -> dict[str, Finding]:
    """The flow ``verify``; findings by source, also when the run failed."""
    from flows.findings import SourcesDiffer
    from flows.verify import verify as flow

    with community.configured():
        try:
            findings = flow(source, **options)
        except SourcesDiffer as error:
            findings = list(error.findings)
            assert set(error.sources) == {each.source for each in findings if each.failed}
        else:
            assert not any(each.failed for each in findings)
    return {each.source: each for each in findings}


def everything(community: Community) -> list[Any]:
    """All objects of both collections, the times of ingestion and of notes included."""
    return sorted(
        json.dumps([kind, facts], default=str, sort_keys=True) for kind, facts in objects(community)
    )


def with_repository(community: Community) -> str:
    one = community.repository("one")
    one.commit({"guide.md": GUIDE, "well.py": CODE, "old.md": "Gone soon.\n"})
    community.refresh()
    one.commit({"guide.md": GUIDE.replace("red", "blue"), "old.md": None}, message="Paint it")
    community.refresh()
    return "repo:one"


def with_room(chat: Community, synapse: Synapse, reader: str) -> str:
    """Threads, edits, redactions, a redacted edit and a purge, over several runs."""
    room = synapse.room("ada", "bob", reader)
    sent = [
        synapse.send(room, ("ada", "bob")[n % 2], f"Word number {n} of the talk.", at(n * 9))
        for n in range(24)
    ]
    synapse.reply(room, "bob", sent[2], "In a thread of its own.", at(30))
    chat.refresh()
    synapse.edit(room, "ada", sent[4], "The gate is blue.", at(300))
    taken_back = synapse.edit(room, "bob", sent[7], "Never mind.", at(301))
    synapse.redact(room, "bob", sent[9])
    synapse.reply(room, "ada", sent[2], "And an answer there.", at(310))
    chat.refresh()
    synapse.redact(room, "bob", taken_back)
    bounds = (at(100) - timedelta(seconds=1), at(120))
    purge(chat, room, *(each.isoformat() for each in bounds))
    chat.refresh()
    return f"chat:{room}"


def purge(chat: Community, room: str, first: str, last: str) -> None:
    from flows.purging import purge as say

    with chat.configured():
        options = {"room": room, "first": first, "last": last}
        none = {"sender": None, "event": None, "everything": False}
        say({**options, **none}, now=False, yes=True)


def test_what_runs_left_of_both_corpora_is_what_their_sources_give(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = with_room(chat, synapse, reader)
    repository = with_repository(chat)
    before = everything(chat)
    found = verify(chat)
    assert found.keys() == {room, repository}
    for source, finding in found.items():
        count = len(chat.passages(source))
        assert finding == Finding(source, "same", count)
        assert count > 3
        with chat.configured():
            assert cursor_ahead(source) == []
    assert everything(chat) == before
    assert chat.embedder().embedded


BOTH = ("repository", "room")

Damage = Callable[[Community, str], str]


def lost(community: Community, source: str) -> str:
    return damage.lose(community, source)


def reworded(community: Community, source: str) -> str:
    return damage.change(community, source, text="The barn was never red.")


def moved(community: Community, source: str) -> str:
    return damage.change(community, source, blob="f" * 40, thread="$elsewhere")


def unlike(community: Community, source: str) -> str:
    return damage.change(community, source, fingerprint="0" * 64)


def doubled(community: Community, source: str) -> str:
    slot = uuid.UUID(damage.NOWHERE).int >> 96
    return damage.double(community, source, part=9, slot=slot)


def blinded(community: Community, source: str) -> str:
    return damage.blind(community, source)


DAMAGE: dict[str, tuple[Damage, dict[str, int]]] = {
    "a passage is gone": (lost, {"missing": 1, "count": 1}),
    "a text is another": (reworded, {"text": 1}),
    "a citation is another": (moved, {"citation": 1}),
    "a fingerprint is another": (unlike, {"form": 1}),
    "a passage is too many": (doubled, {"extra": 1, "count": 1}),
    "a vector is gone": (blinded, {"vectors": 1}),
}


def test_each_kind_of_damage_to_a_repository_is_found_named_and_mended(
    community: Community,
) -> None:
    source = with_repository(community)
    clean = community.passages(source)
    for name, (hurt, kinds) in DAMAGE.items():
        hurt_id = hurt(community, source)
        hurt_state = everything(community)
        found = verify(community)[source]
        assert (found.result, dict(found.differences)) == ("different", kinds), name
        assert found.ids == (hurt_id,), name
        assert everything(community) == hurt_state, name
        mended = verify(community, source, repair=True)[source]
        assert (mended.result, dict(mended.differences)) == ("mended", kinds), name
        assert verify(community)[source].result == "same", name
        assert community.passages(source) == clean, name


def test_each_kind_of_damage_to_a_room_is_found_named_and_mended(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    source = with_room(chat, synapse, reader)
    clean = chat.passages(source).keys()
    for name, (hurt, kinds) in DAMAGE.items():
        hurt_id = hurt(chat, source)
        found = verify(chat)[source]
        assert (found.result, dict(found.differences)) == ("different", kinds), name
        assert found.ids == (hurt_id,), name
        mended = verify(chat, source, repair=True)[source]
        assert (mended.result, dict(mended.differences)) == ("mended", kinds), name
        assert verify(chat)[source].result == "same", name
        assert chat.passages(source).keys() == clean, name
