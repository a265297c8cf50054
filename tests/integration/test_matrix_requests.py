"""What the reader asks of a real homeserver, by its own request log (spec 3.1, 4.10)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.adapters.matrix import MatrixHomeserver
from tests.support.synapse import Synapse, copied, running_synapse

READER = "asking"


@pytest.fixture
def homeserver(synapse: Synapse) -> Iterator[MatrixHomeserver]:
    token = synapse.token(READER)
    with MatrixHomeserver(synapse.url, token, timeout=30, patience=60) as homeserver:
        yield homeserver


def asked(synapse: Synapse, since: int) -> list[tuple[str, str]]:
    return synapse.requests(synapse.mxid(READER), since)


def test_all_that_the_reader_asks_is_get_and_its_presence_is_left_alone(
    synapse: Synapse, homeserver: MatrixHomeserver
) -> None:
    room = synapse.room("ada", "bob", READER)
    event = synapse.send(room, "bob", "text")
    since = synapse.mark()
    homeserver.standing()
    first = homeserver.news(None).next
    history = homeserver.room(room)
    history.state()
    list(history.member_events())
    history.aliases()
    history.membership()
    history.back(first)
    history.events([event, "$absent"])
    synapse.send(room, "bob", "more")
    homeserver.news(first)
    history.forward(first)
    requests = asked(synapse, since)
    assert {method for method, _ in requests} == {"GET"}
    assert len(requests) == 3 + 1 + 1 + 2 + 1 + 1 + 1 + 3 + 1 + 1
    assert all("set_presence=offline" in path for _, path in requests if "/sync" in path)
    presence = synapse.call("GET", f"/presence/{synapse.mxid(READER)}/status", "ada")
    assert presence == {"presence": "offline"}


def test_nothing_new_in_many_rooms_is_one_request(
    synapse: Synapse, homeserver: MatrixHomeserver
) -> None:
    for _ in range(10):
        synapse.room("ada", READER)
    token = homeserver.news(None).next
    since = synapse.mark()
    assert homeserver.news(token).rooms == frozenset()
    assert len(asked(synapse, since)) == 1


def test_who_only_types_reads_or_reacts_elsewhere_makes_no_news(
    synapse: Synapse, homeserver: MatrixHomeserver
) -> None:
    room = synapse.room("ada", "bob", READER)
    event = synapse.send(room, "bob", "text")
    token = homeserver.news(None).next
    synapse.call("PUT", f"/rooms/{room}/typing/{synapse.mxid('bob')}", "bob", {"typing": True})
    synapse.call("POST", f"/rooms/{room}/receipt/m.read/{event}", "ada", {})
    assert homeserver.news(token).rooms == frozenset()


def test_a_segment_is_read_again_in_one_request_and_its_members_do_not_come_along(
    synapse: Synapse, homeserver: MatrixHomeserver
) -> None:
    room = synapse.room("ada", "bob", READER)
    segment = []
    for turn in range(20):
        segment.append(synapse.send(room, "bob", f"text {turn}"))
        synapse.edit(room, "bob", segment[turn], f"text {turn}, once more")
    since = synapse.mark()
    found = homeserver.room(room).events(segment)
    assert [event and event["event_id"] for event in found.values()] == segment
    requests = asked(synapse, since)
    assert len(requests) == 1
    assert "lazy_load_members" in requests[0][1]


def test_events_that_lie_far_apart_are_asked_for_one_by_one(
    synapse: Synapse, homeserver: MatrixHomeserver
) -> None:
    room = synapse.room("ada", "bob", READER)
    far = []
    for _ in range(5):
        far.append(synapse.send(room, "bob", "text"))
        for turn in range(12):
            synapse.send(room, "ada", f"between {turn}")
    since = synapse.mark()
    found = homeserver.room(room).events(far)
    assert [event and event["event_id"] for event in found.values()] == far
    assert len(asked(synapse, since)) == 1 + 4


def test_a_copied_homeserver_answers_the_same(tmp_path: Path) -> None:
    with running_synapse(tmp_path / "one") as synapse:
        room = synapse.room("ada", READER)
        event = synapse.send(room, "ada", "text")
        token = synapse.token(READER)
    with running_synapse(copied(tmp_path / "one", tmp_path / "two")) as synapse:
        synapse.send(room, "ada", "more")
        with MatrixHomeserver(synapse.url, token, timeout=30, patience=60) as homeserver:
            found = homeserver.room(room).events([event])[event]
            last = homeserver.room(room).back(homeserver.news(None).next).events[0]
    assert found
    assert found["content"]["body"] == "text"
    assert last["content"]["body"] == "more"
