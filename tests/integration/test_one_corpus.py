"""A refresh over one corpus leaves the other alone, whatever happened to it (spec 1.3, 1.5)."""

from typing import Any, Literal

import pytest

from tests.support.community import Community
from tests.support.huginn_command import huginn
from tests.support.synapse import Synapse


def refresh(community: Community, corpus: Literal["chat", "forge"]) -> dict[str, Any]:
    """The flow over one corpus; outcomes by source."""
    from flows.refresh import refresh

    with community.configured():
        return {outcome.source: outcome for outcome in refresh(corpus=corpus)}


@pytest.fixture
def both(chat: Community, synapse: Synapse, reader: str) -> tuple[Community, str]:
    """A room and two repositories, all held; gives the room's source."""
    room = synapse.room("ada", reader)
    synapse.send(room, "ada", "Words of the room.")
    chat.repository("one").commit({"a.md": "Words of one.\n"})
    chat.repository("two").commit({"a.md": "Words of two.\n"})
    chat.refresh()
    return chat, f"chat:{room}"


def test_a_run_over_one_corpus_removes_nothing_of_the_other(
    both: tuple[Community, str], synapse: Synapse, reader: str
) -> None:
    community, room = both
    community.unlist("two")
    outcomes = refresh(community, "chat")
    assert {name: each.result for name, each in outcomes.items()} == {room: "unchanged"}
    assert community.passages("repo:two")
    synapse.call("POST", f"/rooms/{room.removeprefix('chat:')}/leave", reader, {})
    outcomes = refresh(community, "forge")
    assert {name: each.result for name, each in outcomes.items()} == {
        "repo:one": "unchanged",
        "repo:two": "removed",
    }
    assert community.passages(room)
    assert not community.passages("repo:two")
    assert refresh(community, "chat")[room].result == "removed"
    assert not community.passages(room)
    assert community.passages("repo:one")


def test_the_command_over_one_corpus_reads_no_news_of_the_other(
    both: tuple[Community, str], synapse: Synapse, prefect_api: str
) -> None:
    community, room = both
    community.repositories["one"].commit({"b.md": "News of one.\n"})
    ran = huginn(community, "refresh", "--corpus", "chat")
    assert ran.code == 0, ran.errors
    assert "prefect" not in ran.loaded
    assert "News of one." not in "".join(community.texts())
    synapse.send(room.removeprefix("chat:"), "ada", "News of the room.")
    ran = huginn(community, "refresh", "--corpus", "forge", PREFECT_API_URL=prefect_api)
    assert ran.code == 0, ran.errors
    assert "News of one." in "".join(community.texts("repo:one"))
    assert "News of the room." not in "".join(community.texts(room))
