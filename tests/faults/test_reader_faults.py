"""A wrong token, a homeserver that forgets rooms, another's ledger: nothing is removed (spec 3.5).

The repositories are done all the same, and the user is told what is wrong and what to do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.community import Community
from tests.support.held_rooms import at, bodies
from tests.support.homeserver_proxy import HomeserverProxy, between
from tests.support.huginn_command import Ran, huginn
from tests.support.synapse import Synapse


@pytest.fixture
def proxy(synapse: Synapse) -> Iterator[HomeserverProxy]:
    with between(synapse.port) as proxy:
        yield proxy


@pytest.fixture
def rooms(chat: Community, synapse: Synapse, reader: str, proxy: HomeserverProxy) -> list[str]:
    """Two rooms and a repository, held; then the repository and one of the rooms go on."""
    chat.matrix["homeserver"] = proxy.url
    rooms = [synapse.room("ada", reader) for _ in range(2)]
    for number, room in enumerate(rooms):
        synapse.send(room, "ada", f"Said in room {number}.", at(number))
    repository = chat.repository("handbook")
    repository.commit({"one.md": "# One\n\nThe first page of the handbook.\n"})
    assert {each.result for each in chat.refresh().values()} == {"done"}
    repository.commit({"two.md": "# Two\n\nThe second page of the handbook.\n"})
    synapse.send(rooms[0], "ada", "Said since.", at(5))
    return rooms


@contextmanager
def nothing_lost(chat: Community) -> Iterator[None]:
    """Whatever the block runs: the rooms are held as before, the repository is up to date."""
    said, records = bodies(chat), cursors(chat)
    yield
    assert bodies(chat) == said
    assert cursors(chat) == records
    assert any("second page" in text for text in chat.texts("repo:handbook"))


def cursors(chat: Community) -> dict[str, object]:
    """Where each room stands, and whose the rooms are."""
    from tasks.bootstrap import open_store
    from tasks.room_records import reader_of

    with chat.configured() as settings, open_store(settings) as store:
        found: dict[str, object] = {
            source: (record.room, record.passages, record.identity)
            for source, record in store.ledger.records().items()
            if source.startswith("chat:")
        }
        return found | {"reader": reader_of(store.ledger).identity}


def refused(chat: Community, prefect_api: str, *told: str) -> Ran:
    """A run that fails for the rooms, says why, and does the repository."""
    ran = huginn(chat, "refresh", PREFECT_API_URL=prefect_api)
    print(ran.code, ran.output, ran.errors, sep="\n")  # noqa: T201  # pytest shows it
    assert ran.code == 1
    for words in told:
        assert words in ran.output, ran.output
    assert "repo:handbook: at " in ran.output
    assert "Traceback" not in ran.output + ran.errors
    return ran


def token_file(chat: Community) -> Path:
    return Path(chat.matrix["token_file"])


def test_another_users_token_changes_nothing_and_is_named(
    chat: Community, synapse: Synapse, rooms: list[str], prefect_api: str
) -> None:
    right = token_file(chat).read_text()
    token_file(chat).write_text(synapse.token("ada"))
    with nothing_lost(chat):
        refused(
            chat,
            prefect_api,
            "chat: failed: The access token is @ada:community.test's, but matrix.user says @",
            "Nothing was changed.",
        )
    token_file(chat).write_text(right)
    assert chat.refresh()[f"chat:{rooms[0]}"].result == "done"
    assert "Said since." in bodies(chat)


def test_a_token_that_is_none_changes_nothing_and_is_not_shown(
    chat: Community, rooms: list[str], prefect_api: str
) -> None:
    token_file(chat).write_text("syt_cmVhZGVy_gonegonegonegonegone_123456")
    with nothing_lost(chat):
        ran = refused(chat, prefect_api, "chat: failed: ", "reader's token", "Make a new one")
    assert "gonegone" not in ran.output + ran.errors
    assert len(rooms) == 2


def test_a_list_of_joined_rooms_that_is_empty_by_fault_removes_nothing(
    chat: Community, proxy: HomeserverProxy, rooms: list[str], prefect_api: str
) -> None:
    proxy.answers = {"/joined_rooms": {"joined_rooms": []}}
    with nothing_lost(chat):
        told = [f"chat:{room}: failed: not-joined: our own membership is join" for room in rooms]
        refused(chat, prefect_api, *told)
    assert {"chat:" + room for room in rooms} <= chat.search("room").unavailable.keys()
    proxy.answers = {}
    outcomes = chat.refresh()
    assert {outcomes[f"chat:{room}"].result for room in rooms} <= {"done", "unchanged"}
    assert "Said since." in bodies(chat)
    assert chat.search("room").unavailable == {}


def test_a_restored_ledger_of_another_homeserver_is_refused_and_not_emptied(
    chat: Community, rooms: list[str], reader: str, prefect_api: str
) -> None:
    from tasks.bootstrap import open_store
    from tasks.room_records import put_reader, reader_of

    theirs = f"https://matrix.other.test as @{reader}:other.test"
    with chat.configured() as settings, open_store(settings) as store:
        put_reader(store.ledger, replace(reader_of(store.ledger), identity=theirs))
    with nothing_lost(chat):
        refused(
            chat,
            prefect_api,
            f"chat: failed: The collection holds the rooms of {theirs}, but the settings read",
            "Nothing was changed.",
        )
    assert len(rooms) == 2


def test_a_homeserver_that_is_down_removes_nothing(
    chat: Community, rooms: list[str], prefect_api: str
) -> None:
    chat.matrix |= {"homeserver": "http://127.0.0.1:9", "patience": 0}
    with nothing_lost(chat):
        refused(chat, prefect_api, "chat: failed: ", "cannot be reached")
    assert len(rooms) == 2
