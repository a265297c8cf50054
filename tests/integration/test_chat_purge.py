"""``huginn chat-purge`` over rooms of a real Synapse, held in a real Weaviate (spec 4.7)."""

import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner, Result

from flows.cli import main
from search.collection import turns_of
from tasks import rooms
from tasks.alone import alone
from tasks.bootstrap import open_room
from tasks.discover_rooms import discover_rooms
from tasks.tombstones import FILE
from tests.support.community import Community
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


def huginn(chat: Community, *arguments: str) -> Result:
    with chat.configured():
        return CliRunner().invoke(main, arguments)


def purge(chat: Community, room: str, *arguments: str) -> Result:
    return huginn(chat, "chat-purge", "--room", room, *arguments)


def between(first: datetime, last: datetime) -> list[str]:
    return ["--from", first.isoformat(), "--to", last.isoformat()]


def listed(chat: Community) -> list[dict[str, str]]:
    purges: list[dict[str, str]] = json.loads(huginn(chat, "chat-purge", "list", "--json").stdout)[
        "purges"
    ]
    return purges


def test_the_next_refresh_deletes_what_a_purge_covers_and_never_takes_it_in_again(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", "bob", reader, alias=f"beds_{reader}")
    for number in range(5):
        synapse.send(room, "ada", f"Bed number {number}.", at(number))
    chat.refresh()
    assert len(bodies(chat)) == 5
    before = synapse.mark()
    done = purge(chat, f"#beds_{reader}:community.test", *between(at(1), at(3)))
    assert done.exit_code == 0, done.output
    assert "the next `huginn refresh` deletes what it covers" in done.stdout
    assert len(bodies(chat)) == 5
    assert synapse.requests(synapse.mxid(reader), before) == []
    (noted,) = listed(chat)
    assert (noted["state"], noted["room"]) == ("due at the next refresh", room)
    # Both bounds are the very times of messages: they are included.
    chat.refresh()
    assert bodies(chat) == ["Bed number 0.", "Bed number 4."]
    assert [each["state"] for each in listed(chat)] == ["applied"]
    chat.backfill(f"chat:{room}")
    assert bodies(chat) == ["Bed number 0.", "Bed number 4."]
    # Taken back, it comes back.
    done = huginn(chat, "chat-purge", "remove", noted["id"])
    assert "brings back" in done.stdout
    chat.refresh()
    assert len(bodies(chat)) == 5
    assert listed(chat) == []
    chat.refresh()
    assert len(bodies(chat)) == 5


def test_now_deletes_at_once_without_a_token_and_the_next_refresh_brings_back_the_rest(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", "bob", reader)
    for number in range(4):
        synapse.send(room, ("ada", "bob")[number % 2], f"Seed number {number}.", at(number))
    synapse.send(room, "ada", "Much later.", at(24 * 60))
    chat.refresh()
    token = chat.folder / "matrix-token"
    token.rename(chat.folder / "elsewhere")
    before = synapse.mark()
    done = purge(chat, room, *between(at(0), at(5)), "--sender", synapse.mxid("bob"), "--now")
    assert done.exit_code == 0, done.output
    assert "1 passages deleted and gone" in done.stdout
    assert "brings back" in done.stdout
    assert synapse.requests(synapse.mxid(reader), before) == []
    assert bodies(chat) == ["Much later."]
    record = chat.record(f"chat:{room}")
    assert record is not None
    assert (record.state, record.room.stream, record.passages) == ("deleting", None, 1)
    assert f"chat:{room}" in chat.search("seeds").unavailable
    (chat.folder / "elsewhere").rename(token)
    assert chat.refresh()[f"chat:{room}"].result == "done"
    assert bodies(chat) == ["Seed number 0.", "Seed number 2.", "Much later."]
    assert chat.refresh()[f"chat:{room}"].result == "unchanged"
    assert chat.search("seeds").unavailable == {}


def test_now_deletes_nothing_of_others_when_nothing_of_the_sender_is_held(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", reader)
    synapse.send(room, "ada", "Hers alone.", at(0))
    chat.refresh()
    done = purge(chat, room, "--everything", "--yes", "--now", "--sender", "@carl:community.test")
    assert "0 passages deleted" in done.stdout
    assert bodies(chat) == ["Hers alone."]
    record = chat.record(f"chat:{room}")
    assert record is not None
    assert record.state == "current"
    assert record.room.stream is not None


def test_a_purge_of_an_edit_takes_the_message_that_it_is_the_text_of(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", reader)
    first = synapse.send(room, "ada", "The key is under the stone.", at(0))
    edit = synapse.edit(room, "ada", first, "The key is under the pot.", at(1))
    synapse.send(room, "ada", "Bring it back.", at(2))
    chat.refresh()
    assert purge(chat, room, "--event", edit).exit_code == 0
    chat.refresh()
    assert bodies(chat) == ["Bring it back."]


def test_a_run_that_was_cut_short_applies_a_purge_that_came_after_it(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", reader)
    synapse.send(room, "ada", "Said too much.", at(0))
    synapse.send(room, "ada", "Said well.", at(1))
    chat.refresh()
    synapse.send(room, "ada", "Said last.", at(2))
    with chat.configured(), open_room(room) as context:
        discover_rooms()
        rooms.begin(context)  # and no further
    assert purge(chat, room, *between(at(0), at(0))).exit_code == 0
    chat.refresh()
    assert bodies(chat) == ["Said well.", "Said last."]
    assert [each["state"] for each in listed(chat)] == ["applied"]


def test_everything_of_a_room_goes_at_once_though_no_homeserver_is_set(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", reader)
    synapse.send(room, "ada", "Nobody reads this any more.", at(0))
    other = synapse.room("ada", reader)
    synapse.send(other, "ada", "This stays.", at(0))
    chat.refresh()
    matrix, chat.matrix = chat.matrix, {}
    refused = purge(chat, room, "--everything", "--now")
    assert (refused.exit_code, "Give --yes" in refused.stderr) == (2, True)
    done = purge(chat, room, "--everything", "--now", "--yes")
    assert "1 passages deleted" in done.stdout
    assert bodies(chat) == ["This stays."]
    assert chat.record(f"chat:{room}") is None
    chat.matrix = matrix
    chat.refresh()
    synapse.send(room, "ada", "Nor this.", at(1))
    chat.refresh()
    assert bodies(chat) == ["This stays."]
    huginn(chat, "chat-purge", "remove", listed(chat)[0]["id"])
    chat.refresh()
    assert sorted(bodies(chat)) == ["Nobody reads this any more.", "Nor this.", "This stays."]


def test_a_purge_that_the_ledger_lost_is_listed_and_applied_from_the_file(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", reader)
    synapse.send(room, "ada", "Restored from a backup.", at(0))
    assert purge(chat, room, *between(at(0), at(0))).exit_code == 0
    chat.collection = f"Test{uuid.uuid4().hex}"  # as a restored one: it knows of no purge
    assert [each["state"] for each in listed(chat)] == ["due at the next refresh"]
    chat.refresh()
    assert bodies(chat) == []
    assert (chat.folder / "data" / FILE).stat().st_mode & 0o777 == 0o600


def test_now_waits_for_the_run_at_work_on_the_room_and_gives_up_without_deleting(
    chat: Community, synapse: Synapse, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = synapse.room("ada", reader)
    synapse.send(room, "ada", "A run is at work on this.", at(0))
    chat.refresh()
    monkeypatch.setattr("tasks.alone.WAIT_SECONDS", 0.2)
    with chat.configured(), alone(f"chat:{room}"):
        done = purge(chat, room, *between(at(0), at(0)), "--now")
    assert done.exit_code == 1
    assert "another run is at work on it; waiting" in done.stderr
    assert bodies(chat) == ["A run is at work on this."]
    assert [each["room"] for each in listed(chat)] == [room]  # for the next refresh


def test_a_backfill_takes_a_room_by_its_alias_or_its_id(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", reader, alias=f"paths_{reader}")
    synapse.send(room, "ada", "Along the wall.", at(0))
    chat.refresh()
    for named in (f"chat:{room}", room, f"#paths_{reader}:community.test"):
        assert [*chat.backfill(named)] == [f"chat:{room}"]
    assert bodies(chat) == ["Along the wall."]


def test_rooms_are_shown_with_the_sources(chat: Community, synapse: Synapse, reader: str) -> None:
    room = synapse.room("ada", reader, alias=f"list_{reader}")
    synapse.send(room, "ada", "One.", at(0))
    chat.matrix["labels"] = {room: "The list"}
    chat.refresh()
    shown = huginn(chat, "sources", "list").stdout
    alias = f"#list_{reader}:community.test"
    assert shown == f"chat:{room}  current  1 passages  {alias}  (The list)\n"
    (row,) = json.loads(huginn(chat, "sources", "list", "--json").stdout)["sources"]
    assert (row["alias"], row["label"], row["state"]) == (alias, "The list", "current")
    assert row["address"] == f"{synapse.url} as {synapse.mxid(reader)}"
