"""Rooms of a real Synapse through the whole flow into a real Weaviate."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from search.collection import turns_of
from tests.support.community import Community, without_vectors
from tests.support.synapse import Synapse

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


@pytest.fixture
def reader() -> str:
    """A reader of the test's own: it is in no other test's rooms."""
    return f"reader_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def chat(community: Community, synapse: Synapse, reader: str) -> Community:
    """A community whose rooms are those of ``reader``; it lists no repository."""
    synapse.user(reader)
    community.reads(synapse, reader)
    return community


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def bodies(chat: Community) -> list[str]:
    """Every body that is held, in the order of rooms, threads and time."""
    found = []
    for facts in chat.passages().values():
        for number, turn in enumerate(turns_of(facts)):
            found.append((facts["source"], facts["thread"], facts["start"], number, turn.body))
    return [body for *_, body in sorted(found)]


def test_a_room_is_read_and_a_second_run_finds_nothing_new(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", "bob", reader, alias=f"sp_garden_{reader}")
    synapse.send(room, "ada", "The beans need water.", at(0))
    synapse.send(room, "bob", "I watered them at noon.", at(1))
    source = f"chat:{room}"
    outcome = chat.refresh()[source]
    assert outcome.result == "done"
    assert bodies(chat) == ["The beans need water.", "I watered them at noon."]
    record = chat.record(source)
    assert record is not None
    assert record.state == "current"
    assert record.alias == f"#sp_garden_{reader}:community.test"
    embedded = chat.embedder().embedded
    assert chat.refresh()[source].result == "unchanged"
    assert chat.embedder().embedded == embedded


def test_edits_and_redactions_change_what_is_held(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", "bob", reader)
    first = synapse.send(room, "ada", "The gate is green.", at(0))
    second = synapse.send(room, "bob", "My password hint is marmalade.", at(1))
    synapse.send(room, "ada", "Close it in the evening.", at(2))
    chat.refresh()
    edit = synapse.edit(room, "ada", first, "The gate is blue.", at(3))
    synapse.redact(room, "bob", second)
    chat.refresh()
    assert bodies(chat) == ["The gate is blue.", "Close it in the evening."]
    synapse.redact(room, "ada", edit)
    chat.refresh()
    assert bodies(chat) == ["The gate is green.", "Close it in the evening."]


def test_increments_give_the_same_passages_as_one_clean_run(
    chat: Community, synapse: Synapse, reader: str, community: Community
) -> None:
    room = synapse.room("ada", "bob", reader)
    sent = []
    for number in range(60):
        who = ("ada", "bob")[number % 2]
        sent.append(synapse.send(room, who, f"Word number {number} of the talk.", at(number * 9)))
        if number % 7 == 3:
            synapse.edit(room, "ada", sent[2], f"Edited at {number}.", at(number * 9 + 1))
        if number % 11 == 5:
            synapse.redact(room, "ada", sent[number // 2])
        if number % 10 == 9:
            chat.refresh()
    chat.refresh()
    increments = without_vectors(chat.passages())
    chat.collection = f"Test{uuid.uuid4().hex}"
    chat.refresh()
    assert increments == without_vectors(chat.passages())


def test_a_room_that_turns_into_a_bridged_one_is_removed(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", reader)
    synapse.send(room, "ada", "Only for the garden.", at(0))
    chat.refresh()
    assert bodies(chat) == ["Only for the garden."]
    synapse.put_state(room, "ada", "uk.half-shot.bridge", {"bridgebot": "@bot:community.test"}, "x")
    outcome = chat.refresh()[f"chat:{room}"]
    assert outcome.result == "removed"
    assert "bridged" in str(outcome.reason)
    assert bodies(chat) == []
    assert chat.record(f"chat:{room}") is None
    assert chat.refresh() == {}
