"""Which rooms a run reads and which go, over fakes (spec 3.5, 3.6, 4.10)."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from search.ledger import Journal, JournalEntry
from tasks import discover_rooms, tombstones
from tasks.domain.purges import Purge
from tasks.errors import (
    HomeserverRefused,
    HomeserverUnreachable,
    OtherReader,
    RoomRefused,
    SourceNotListed,
    WrongReader,
)
from tasks.room_records import journal_of, purges_of, reader_of
from tests.support.fake_homeserver import FakeHistory, FakeHomeserver
from tests.support.fake_rooms import RoomWork, at

UNREACHABLE = HomeserverUnreachable("Nobody answers. Try again.")


class Asked:
    """Every request that the homeserver was sent, as (method, room)."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.requests: list[tuple[str, str]] = []
        for method in ("standing", "news"):
            self._count(patch, FakeHomeserver, method)
        for method in ("state", "aliases", "member_events", "membership", "back", "forward"):
            self._count(patch, FakeHistory, method)
        self._count(patch, FakeHistory, "events")

    def _count(self, patch: pytest.MonkeyPatch, kind: type, method: str) -> None:
        do = getattr(kind, method)

        def counted(port: Any, *args: Any) -> Any:
            self.requests.append((method, getattr(port, "_room", "")))
            return do(port, *args)

        patch.setattr(kind, method, counted)


@pytest.fixture
def work(tmp_path: Path) -> RoomWork:
    return RoomWork(folder=tmp_path)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


def talk(work: RoomWork, **options: Any) -> str:
    """A room in which something was said."""
    room = work.room(**options)
    work.community.send(room, "ada", "words", at(0))
    return room


def journal(work: RoomWork) -> dict[str, JournalEntry]:
    found = journal_of(work.ledger)
    assert isinstance(found, Journal)
    return {each.room: each for each in found.entries}


def facts(work: RoomWork) -> tuple[Any, ...]:
    """All that a refused run must leave as it is."""
    return work.stored(), dict(work.ledger.payloads), dict(work.ledger.kept)


def test_a_room_with_news_is_due_and_one_without_is_only_fresh(work: RoomWork) -> None:
    one, two = talk(work), talk(work)
    assert work.refresh().due == sorted([one, two])
    work.community.send(one, "ada", "more", at(1))
    before = work.record(two).last_success
    found = work.refresh()
    assert (found.due, found.unchanged) == ([one], [f"chat:{two}"])
    assert sorted(found.admitted) == sorted([one, two])
    after = work.record(two).last_success
    assert before is not None
    assert after is not None
    assert after > before


def test_nothing_new_costs_one_sync_and_at_most_three_requests_a_room(
    work: RoomWork, asked: Asked
) -> None:
    rooms = [talk(work) for _ in range(5)]
    work.refresh()
    asked.requests.clear()
    found = work.refresh()
    assert found.nothing_to_do
    assert asked.requests.count(("news", "")) == 1
    assert asked.requests.count(("standing", "")) == 1
    assert sorted(asked.requests[2:]) == sorted(("aliases", room) for room in rooms)


def test_a_refused_room_in_which_nothing_happens_costs_no_request(
    work: RoomWork, asked: Asked
) -> None:
    room = talk(work, alias="members")
    work.refresh()
    entry = journal(work)[room]
    assert not entry.admitted
    assert entry.reason.startswith("excluded")
    asked.requests.clear()
    work.refresh()
    assert asked.requests == [("standing", ""), ("news", "")]
    assert journal(work)[room] == entry
    assert work.stored() == {}


def test_a_refused_room_is_looked_at_again_when_something_happens_or_the_rules_change(
    work: RoomWork, asked: Asked
) -> None:
    room = talk(work)
    work.options["excluded"] = (room,)
    work.refresh()
    work.community.send(room, "ada", "more", at(1))
    asked.requests.clear()
    work.refresh()
    assert ("state", room) in asked.requests
    assert ("back", room) not in asked.requests
    work.options["excluded"] = ()
    assert work.refresh().due == [room]
    assert work.bodies(room) == ["words", "more"]


def test_a_room_that_is_no_longer_marked_as_direct_is_read_though_nothing_happened_in_it(
    work: RoomWork,
) -> None:
    room = talk(work)
    work.community.mark_direct("reader", "ada", room)
    work.refresh()
    assert journal(work)[room].reason.startswith("direct")
    work.community.mark_direct("reader", "ada")
    assert work.refresh().due == [room]
    assert work.bodies(room) == ["words"]


@pytest.mark.parametrize(
    ("turn", "code"),
    [
        (lambda work, room: work.community.mark_direct("reader", "ada", room), "direct"),
        (lambda work, room: work.community.put_alias(room, "ada", "patrons"), "excluded"),
        (lambda work, room: work.options.update(excluded=(room,)), "excluded"),
        (lambda work, room: work.options.update(direct=(room,)), "direct"),
    ],
    ids=["m.direct", "alias in the directory", "settings: excluded", "settings: direct"],
)
def test_a_room_that_stops_qualifying_without_an_event_goes_by_the_next_run(
    turn: Callable[[RoomWork, str], Any], code: str, work: RoomWork
) -> None:
    room, other = talk(work), talk(work)
    work.refresh()
    turn(work, room)
    assert work.refresh().gone.keys() == {f"chat:{room}"}
    assert journal(work)[room].reason.startswith(code)
    assert work.ledger.records().keys() == {f"chat:{other}"}
    assert work.bodies(room) == []
    assert work.bodies(other) == ["words"]


@pytest.mark.parametrize("kind", ["m.bridge", "uk.half-shot.bridge"])
@pytest.mark.parametrize("content", [{"bridgebot": "@bot:x"}, {}], ids=["full", "emptied"])
def test_m42_a_bridged_room_goes_whichever_event_says_so(
    kind: str, content: dict[str, Any], work: RoomWork, asked: Asked
) -> None:
    room = talk(work)
    work.refresh()
    work.community.put_state(room, "ada", kind, content, "some key")
    asked.requests.clear()
    work.refresh()
    assert work.stored() == {}
    assert work.ledger.records() == {}
    assert not {"back", "forward", "events"} & {method for method, _ in asked.requests}
    assert "bridged" in journal(work)[room].reason


def test_a_puppet_met_in_a_page_is_named_in_the_journal_and_the_room_is_not_read_again(
    work: RoomWork, asked: Asked
) -> None:
    room = talk(work)
    work.community.send(room, "_discord_12", "bridged words", at(1))
    work.refresh()
    entry = journal(work)[room]
    assert not entry.admitted
    assert "puppet" in entry.reason
    work.community.send(room, "ada", "more", at(2))
    asked.requests.clear()
    assert work.refresh().due == []
    assert asked.requests == [("standing", ""), ("news", "")]
    assert work.stored() == {}
    assert "discord" not in work.words()


@pytest.mark.parametrize("how", ["leave", "kick", "ban"])
def test_m46_a_room_that_the_reader_left_goes_and_the_others_are_read(
    how: str, work: RoomWork
) -> None:
    room, other = talk(work), talk(work)
    work.refresh()
    getattr(work.community, how)(room, *(["reader"] if how == "leave" else ["ada", "reader"]))
    work.community.send(other, "ada", "more", at(1))
    found = work.refresh()
    assert found.gone.keys() == {f"chat:{room}"}
    assert found.due == [other]
    assert work.bodies(room) == []
    assert work.bodies(other) == ["words", "more"]
    assert journal(work)[room].reason.startswith("not-joined")


def test_a_room_that_the_reader_left_and_joined_again_is_read_anew(work: RoomWork) -> None:
    room = talk(work)
    work.refresh()
    work.community.leave(room, "reader")
    work.refresh()
    work.community.join(room, "reader")
    work.refresh()
    assert work.bodies(room) == ["words"]
    assert work.stored() == work.clean().stored()


def test_an_empty_list_of_joined_rooms_removes_nothing(
    work: RoomWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = [talk(work) for _ in range(3)]
    work.refresh()
    before = work.stored()
    answer = work.homeserver.standing()
    monkeypatch.setattr(FakeHomeserver, "standing", lambda _: replace(answer, joined=frozenset()))
    found = work.refresh()
    assert found.gone == {}
    assert found.unavailable.keys() == {f"chat:{room}" for room in rooms}
    assert work.stored() == before
    assert {work.record(room).state for room in rooms} == {"failed"}
    assert "join" in str(work.record(rooms[0]).reason)
    monkeypatch.undo()
    work.refresh()
    assert {work.record(room).state for room in rooms} == {"current"}
    assert work.stored() == before


@pytest.mark.parametrize("membership", ["", "invite", "knock", "join"])
def test_only_leave_or_ban_is_left(
    membership: str, work: RoomWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = talk(work)
    work.refresh()
    before = work.stored()
    work.community.leave(room, "reader")
    monkeypatch.setattr(FakeHistory, "membership", lambda _: membership)
    found = work.refresh()
    assert found.gone == {}
    assert found.unavailable.keys() == {f"chat:{room}"}
    assert work.stored() == before


@pytest.mark.parametrize(
    "error",
    [UNREACHABLE, HomeserverRefused("No. This is a fake.", status=403, code="M_FORBIDDEN")],
    ids=["unreachable", "refused"],
)
@pytest.mark.parametrize("method", ["membership", "state", "aliases"])
def test_a_failed_question_about_one_room_removes_nothing_and_stops_no_other(
    method: str, error: Exception, work: RoomWork
) -> None:
    room, other = talk(work), talk(work)
    work.refresh()
    if method == "membership":
        work.community.leave(room, "reader")
    else:
        work.community.send(room, "ada", "more", at(1))
    work.community.send(other, "ada", "more", at(1))
    work.homeserver.failing[method, room] = error
    before = work.stored(room)
    found = work.refresh()
    assert found.gone == {}
    assert found.unavailable.keys() == {f"chat:{room}"}
    assert work.stored(room) == before
    assert work.bodies(other) == ["words", "more"]
    assert work.record(room).reason == str(error)
    work.homeserver.failing.clear()
    work.refresh()
    assert work.stored() == work.clean().stored()


@pytest.mark.parametrize("method", ["standing", "news"])
def test_a_homeserver_that_does_not_answer_at_all_changes_nothing(
    method: str, work: RoomWork
) -> None:
    talk(work)
    work.refresh()
    before = facts(work)
    work.homeserver.failing[method] = UNREACHABLE
    with pytest.raises(HomeserverUnreachable):
        work.refresh()
    assert facts(work) == before


def test_a_token_of_another_user_is_refused_before_anything_changes(work: RoomWork) -> None:
    room = talk(work)
    work.refresh()
    before = facts(work)
    work.community.leave(room, "reader")
    work.options["user"] = "@other:community.test"
    with pytest.raises(WrongReader, match=r"@reader.* but matrix\.user says @other") as caught:
        work.refresh()
    assert "Nothing was changed" in str(caught.value)
    assert facts(work) == before


def test_a_ledger_of_another_reader_or_homeserver_is_refused_not_emptied(
    work: RoomWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(work)
    work.refresh()
    before = facts(work)
    monkeypatch.setattr(FakeHomeserver, "identity", "https://elsewhere.test as @reader:x.test")
    with pytest.raises(OtherReader, match=r"fake\.test .* but the settings read .*elsewhere"):
        work.refresh()
    assert facts(work) == before


def test_without_a_homeserver_what_is_held_is_unavailable_and_stays(work: RoomWork) -> None:
    room = talk(work)
    work.refresh()
    before = facts(work)
    found = discover_rooms.discover(replace(work.chat, homeserver=None))
    assert found.gone == {}
    assert found.unavailable.keys() == {f"chat:{room}"}
    assert facts(work) == before


def test_the_next_run_asks_since_the_last_answer_only_when_all_rooms_were_done(
    work: RoomWork,
) -> None:
    room = talk(work)
    found = work.discover()
    assert (reader_of(work.ledger).since, reader_of(work.ledger).reached) == (None, found.reached)
    assert work.discover().due == [room]
    discover_rooms.settled(work.ledger, str(found.reached))
    assert reader_of(work.ledger).since == found.reached


def test_a_failed_room_is_due_again_though_nothing_happened_in_it(work: RoomWork) -> None:
    room = talk(work)
    work.homeserver.failing["back", room] = UNREACHABLE
    work.refresh(patient=True)
    work.homeserver.failing.clear()
    assert work.refresh().due == [room]
    assert work.bodies(room) == ["words"]


def test_a_room_whose_first_check_failed_is_looked_at_again(work: RoomWork) -> None:
    room = talk(work)
    work.homeserver.failing["state", room] = UNREACHABLE
    assert work.refresh().due == []
    work.homeserver.failing.clear()
    assert work.refresh().due == [room]


def test_a_removal_that_was_cut_short_goes_on_and_a_room_back_in_between_is_read_anew(
    work: RoomWork,
) -> None:
    room = talk(work)
    work.refresh()
    work.writer.keeping = set(work.stored())
    work.community.mark_direct("reader", "ada", room)
    with pytest.raises(Exception, match="deletes"):
        work.refresh()
    assert work.record(room).state == "deleting"
    work.writer.keeping = set()
    work.writer.held.clear()  # deleted, and killed before the record was forgotten
    work.community.mark_direct("reader", "ada")
    work.refresh()
    assert work.bodies(room) == ["words"]
    assert work.record(room).state == "current"


def test_a_changed_label_or_pending_purge_makes_a_quiet_room_due(work: RoomWork) -> None:
    room = talk(work)
    work.refresh()
    work.options["labels"] = {room: "garden"}
    assert work.refresh().due == [room]
    assert work.record(room).label == "garden"
    assert work.refresh().due == []
    work.purge(Purge(room, at(0), at(0)))
    assert work.refresh().due == [room]
    assert work.bodies(room) == []
    assert work.refresh().due == []


def test_a_purge_that_only_the_file_has_is_put_back_and_done_in_the_same_run(
    work: RoomWork,
) -> None:
    """The ledger is one restored from a backup that is older than the purge."""
    room = talk(work)
    work.refresh()
    tombstones.said(work.chat.settings, Purge(room, at(0), at(0)))
    work.refresh()
    assert work.bodies(room) == []
    assert [bool(each.applied) for each in purges_of(work.ledger)] == [True]


def test_the_journal_names_every_room_with_its_alias_or_why_it_is_out(work: RoomWork) -> None:
    inside = talk(work, alias="garden")
    outside = talk(work, alias="users")
    work.refresh()
    work.refresh()
    found = journal(work)
    assert found.keys() == {inside, outside}
    assert (found[inside].admitted, found[inside].alias) == (True, "#garden:community.test")
    assert (found[outside].admitted, found[outside].reason) == (
        False,
        "excluded: it is excluded by id or alias",
    )


def test_an_invite_is_no_room(work: RoomWork, asked: Asked) -> None:
    room = work.community.room("ada", "bob", invite=[work.community.mxid("reader")])
    work.refresh()
    assert asked.requests == [("standing", ""), ("news", "")]
    assert work.ledger.records() == {}
    assert work.community.rooms[room].membership(work.homeserver.reader) == "invite"


def test_a_room_and_the_one_that_replaced_it_are_both_rooms_with_a_link(work: RoomWork) -> None:
    old = talk(work)
    new = work.community.upgrade(old, "ada", "12")
    work.community.join(new, "reader")
    work.community.send(new, "ada", "here now", at(5))
    work.refresh()
    assert (work.bodies(old), work.bodies(new)) == (["words"], ["here now"])
    assert work.record(new).predecessor == old


def test_backfill_takes_rooms_by_id_or_alias_and_refuses_others(
    work: RoomWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, other = talk(work, alias="garden"), talk(work)
    work.refresh()

    @contextmanager
    def opened(_: object) -> Any:
        yield work.chat

    @contextmanager
    def store(_: object) -> Any:
        yield work.chat.store

    monkeypatch.setattr(discover_rooms, "run_settings", lambda: (work.chat.settings, None))
    monkeypatch.setattr(discover_rooms, "open_chat", opened)
    monkeypatch.setattr(discover_rooms, "open_store", store)
    assert discover_rooms.listed_rooms(None) == sorted([room, other])
    for named in (room, f"chat:{room}", "#garden:community.test", "chat:#garden:community.test"):
        assert discover_rooms.listed_rooms(named) == [room]
    with pytest.raises(SourceNotListed):
        discover_rooms.listed_rooms("!unknown:community.test")
    discover_rooms.settle("s99")
    assert reader_of(work.ledger).since == "s99"


def test_a_direct_chat_of_the_past_is_refused_before_the_first_read(
    work: RoomWork, asked: Asked
) -> None:
    """The invite that made it one is no longer its members' state."""
    invited = [work.community.mxid("reader")]
    room = work.community.room("ada", invite=invited, is_direct=True)
    for _ in range(2):
        work.community.join(room, "reader")
    work.community.send(room, "ada", "private words", at(0))
    work.refresh()
    assert not journal(work)[room].admitted
    assert ("back", room) not in asked.requests
    assert "private" not in work.words()


def test_a_room_refused_by_its_begin_is_not_read(work: RoomWork) -> None:
    room = talk(work)
    work.discover()
    work.community.put_state(room, "ada", "m.bridge", {"a": 1}, "x")
    with pytest.raises(RoomRefused, match="bridged"):
        work.begin(room)
    assert work.stored() == {}
