"""The reader leaves, is kicked, comes back or came late; rooms are replaced (spec 3.5, 4.8)."""

from tests.support.community import Community
from tests.support.held_rooms import at, bodies, reasons
from tests.support.synapse import Synapse

JOINED = {"type": "m.room.history_visibility", "content": {"history_visibility": "joined"}}


def test_m46_the_rooms_that_a_reader_was_kicked_or_banned_from_are_removed_and_no_other(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    kicked, banned, stays = (synapse.room("ada", reader) for _ in range(3))
    for number, room in enumerate((kicked, banned, stays)):
        synapse.send(room, "ada", f"Said in room {number}.", at(number))
    chat.refresh()
    assert len(bodies(chat)) == 3
    synapse.kick(kicked, "ada", reader)
    synapse.ban(banned, "ada", reader)
    outcomes = chat.refresh()
    assert {outcomes[f"chat:{room}"].result for room in (kicked, banned)} == {"removed"}
    assert bodies(chat) == ["Said in room 2."]
    assert reasons(chat) == {
        kicked: "not-joined: our own membership is leave",
        banned: "not-joined: our own membership is ban",
    }
    assert chat.record(f"chat:{kicked}") is None
    assert set(chat.refresh()) == {f"chat:{stays}"}


def test_a_reader_who_left_and_comes_back_reads_the_room_anew(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", reader)
    synapse.send(room, "ada", "Before.", at(0))
    chat.refresh()
    synapse.leave(room, reader)
    synapse.send(room, "ada", "While away.", at(1))
    assert chat.refresh()[f"chat:{room}"].result == "removed"
    assert bodies(chat) == []
    synapse.join(room, reader)
    synapse.send(room, "ada", "After.", at(2))
    assert chat.refresh()[f"chat:{room}"].result == "done"
    assert bodies(chat) == ["Before.", "While away.", "After."]


def test_a_reader_who_was_away_between_two_runs_misses_nothing_that_it_may_see(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room, closed = synapse.room("ada", reader), synapse.room("ada", reader, initial_state=[JOINED])
    for each in (room, closed):
        synapse.send(each, "ada", "Before.", at(0))
    chat.refresh()
    for each in (room, closed):
        synapse.leave(each, reader)
        synapse.send(each, "ada", "While away.", at(1))
        synapse.join(each, reader)
        synapse.send(each, "ada", "After.", at(2))
    chat.refresh()
    assert bodies(chat, f"chat:{room}") == ["Before.", "While away.", "After."]
    assert bodies(chat, f"chat:{closed}") == ["Before.", "After."]


def test_m48_who_joins_late_holds_nothing_from_before_where_the_room_says_so(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    room = synapse.room("ada", "bob", initial_state=[JOINED])
    early = synapse.send(room, "bob", "Before the reader came.", at(0))
    synapse.join(room, reader)
    synapse.send(room, "bob", "After.", at(1))
    assert chat.refresh()[f"chat:{room}"].result == "done"
    assert bodies(chat) == ["After."]
    synapse.edit(room, "bob", early, "Edited since the reader came.", at(2))
    synapse.redact(room, "ada", synapse.send(room, "ada", "Not for long.", at(3)))
    assert chat.refresh()[f"chat:{room}"].result == "done"
    assert bodies(chat) == ["After."]
    assert chat.backfill(f"chat:{room}")[f"chat:{room}"].result == "done"
    assert bodies(chat) == ["After."]


def test_an_upgraded_room_and_the_one_in_its_place_are_both_held_and_linked(
    chat: Community, synapse: Synapse, reader: str
) -> None:
    old = synapse.room("ada", reader, version="10", alias=f"moved_{reader}")
    synapse.send(old, "ada", "In the old room.", at(0))
    chat.refresh()
    new = synapse.upgrade(old, "ada", "12")
    synapse.join(new, reader)
    synapse.send(new, "ada", "In the new room.", at(1))
    outcomes = chat.refresh()
    assert {outcomes[f"chat:{room}"].result for room in (old, new)} == {"done"}
    assert bodies(chat, f"chat:{old}") == ["In the old room."]
    assert bodies(chat, f"chat:{new}") == ["In the new room."]
    record = chat.record(f"chat:{new}")
    assert record is not None
    assert record.predecessor == old
    assert record.alias == f"#moved_{reader}:community.test"
