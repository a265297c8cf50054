"""``verify`` over fakes: no false alarm after any kill or news, no damage overlooked (spec 7.2)."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tasks import repo_commits, repo_files, repos, rooms, verify_room
from tasks.domain.purges import Purge
from tasks.domain.ranges import RangeCursor
from tasks.errors import (
    HomeserverUnreachable,
    NeverRead,
    RangeUnfinished,
    RepositoryUnreadable,
    RoomRefused,
    StillMoving,
)
from tasks.range_records import put_range
from tasks.repo_plan import Plans
from tests.support.fake_repository import FakeRepository
from tests.support.fake_rooms import Boundaries, Crash, RoomWork, at
from tests.support.fakes import FakePassageWriter
from tests.support.verifying import compared
from tests.unit.test_repos import Work, page
from tests.unit.test_rooms_tasks import scene

CLEAN: tuple[dict[str, str], None] = ({}, None)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repo_files, "MOST_FILES", 2)
    monkeypatch.setattr(repo_commits, "MOST_COMMITS", 3)
    monkeypatch.setattr(repos, "_plans", Plans())


def room_compared(work: RoomWork, room: str) -> tuple[dict[str, str], str | None]:
    found, behind = compared(work.writer, work.ledger, work.context(room))
    return {**found}, behind


def repo_compared(work: Work) -> tuple[dict[str, str], str | None]:
    found, behind = compared(work.writer, work.ledger, work.context)
    return {**found}, behind


def talk(work: RoomWork) -> str:
    room = work.room("cyd")
    for minute in range(12):
        work.community.send(room, ("ada", "bob")[minute % 2], f"word {minute} said", at(minute))
    work.refresh()
    return room


# Rooms


@pytest.mark.parametrize("after", [False, True], ids=["before it had effect", "after it had"])
def test_a_run_over_a_room_killed_at_any_call_left_no_cursor_ahead(after: bool) -> None:  # noqa: FBT001
    crashes = 0
    for left in range(1, 200):
        work = RoomWork(Boundaries(4))
        room = work.room("cyd")
        scene(work, room)
        work.fuse.left, work.fuse.after = left, after
        try:
            work.refresh()
        except Crash:
            crashes += 1
        else:
            break
        assert room_compared(work, room)[0] == {}
        work.refresh()
        assert room_compared(work, room) == CLEAN
    assert 30 < crashes < 199


def test_a_room_with_news_is_behind_and_not_different() -> None:
    work = RoomWork(Boundaries(4))
    room = work.room("cyd")
    scene(work, room)
    assert room_compared(work, room) == ({}, "4 events came since")
    work.refresh()
    assert room_compared(work, room) == CLEAN


def test_a_room_read_by_other_rules_is_behind() -> None:
    work = RoomWork()
    room = talk(work)
    work.version = "v2"
    assert room_compared(work, room) == (
        {},
        "settings or rules changed: compared as the next run leaves it",
    )


def test_a_purge_that_waits_is_no_difference_and_one_that_was_applied_is_kept() -> None:
    work = RoomWork()
    room = talk(work)
    work.purge(Purge(room, at(3), at(5)))
    assert room_compared(work, room) == (
        {},
        "a purge waits for the next run: compared as that leaves it",
    )
    work.refresh()
    assert room_compared(work, room) == CLEAN


def test_what_an_applied_purge_covers_is_found_if_it_is_held_again() -> None:
    work = RoomWork()
    room = talk(work)
    purged = next(iter(work.writer.held.values()))
    work.purge(Purge(room, at(-1), at(99)))
    work.refresh()
    assert work.held() == {}
    work.writer.write([purged])
    assert room_compared(work, room)[0] == {purged[0].id: "extra"}


def test_a_stream_token_that_was_moved_ahead_shows_what_was_never_read() -> None:
    work = RoomWork()
    room = talk(work)
    work.community.send(room, "ada", "never read", at(500))
    ahead = work.homeserver.news(None).next
    record = work.record(room)
    work.ledger.put(record.at(replace(record.room, stream=ahead)))
    (kind,) = room_compared(work, room)[0].values()
    assert kind == "missing"


def test_news_far_from_the_damage_does_not_hide_it() -> None:
    work = RoomWork()
    room = talk(work)
    lost = min(work.writer.held)
    del work.writer.held[lost]
    work.community.send(room, "ada", "far away", at(900))
    assert room_compared(work, room) == ({lost: "missing"}, "1 events came since")


def test_what_people_say_meanwhile_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    work = RoomWork()
    room = talk(work)
    said = iter(range(3))
    run = verify_room._run

    def interrupted(context: object) -> object:
        counts = run(context)  # type: ignore[arg-type]
        for number in said:
            work.community.send(room, "ada", f"meanwhile {number}", at(20 + number))
            break
        return counts

    monkeypatch.setattr(verify_room, "_run", interrupted)
    assert room_compared(work, room)[0] == {}
    assert next(said, None) is None


def test_a_room_in_which_people_never_stop_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    work = RoomWork()
    room = talk(work)
    run = verify_room._run

    def interrupted(context: object) -> object:
        counts = run(context)  # type: ignore[arg-type]
        work.community.send(room, "ada", "and another thing", at(20))
        return counts

    monkeypatch.setattr(verify_room, "_run", interrupted)
    with pytest.raises(StillMoving, match="changed again and again"):
        room_compared(work, room)


def test_a_room_that_no_run_has_read_is_told() -> None:
    work = RoomWork()
    room = work.room("cyd")
    with pytest.raises(NeverRead, match="no run has read it yet"):
        room_compared(work, room)


def test_a_room_that_may_not_be_read_any_more_is_told() -> None:
    work = RoomWork()
    room = talk(work)
    work.community.put_state(room, "ada", "m.bridge", {"bridgebot": "@bot:x"}, "x")
    with pytest.raises(RoomRefused):
        room_compared(work, room)


def test_a_room_that_is_covered_since_a_time_is_compared_since_then() -> None:
    work = RoomWork()
    room = work.room("cyd")
    for hour in range(80):
        work.community.send(room, "ada", f"word {hour} said", at(60 * 2 * hour))
    work.discover()
    rooms.begin(work.context(room), covered=at(60 * 100).isoformat())
    work.finish(room)
    assert 0 < len(work.bodies(room)) < 40
    assert room_compared(work, room) == CLEAN
    lost = min(work.writer.held)
    kept = work.writer.held.pop(lost)
    assert room_compared(work, room)[0] == {lost: "missing"}
    work.writer.write([kept])
    work.refresh()
    pending = RangeCursor(work.version, "back", since=at(0).isoformat(), extends=True)
    put_range(work.ledger, f"chat:{room}", pending)
    with pytest.raises(RangeUnfinished, match="cut short"):
        room_compared(work, room)


def test_a_homeserver_that_does_not_answer_makes_no_difference_up() -> None:
    work = RoomWork()
    room = talk(work)
    work.homeserver.failing["back", room] = HomeserverUnreachable("gone")
    with pytest.raises(HomeserverUnreachable):
        room_compared(work, room)


# Repositories


def repository() -> Work:
    work = Work()
    work.source.commit({"a.md": page("one"), "b.md": page("two"), "c.md": page("three")})
    work.finish()
    return work


def moved(work: Work) -> None:
    work.source.commit({"a.md": page("new"), "b.md": None, "d.md": page("four")}, message="Go on")


class Stops:
    """A store's writer that dies at the ``left``-th write or delete, before or after it."""

    def __init__(self, writer: FakePassageWriter, left: int, *, after: bool) -> None:
        self._writer, self.left, self._after = writer, left, after

    def __getattr__(self, name: str) -> Callable[..., object]:
        found = getattr(self._writer, name)

        def call(*arguments: object, **options: object) -> object:
            if name not in ("write", "delete", "expunge"):
                return found(*arguments, **options)
            self.left -= 1
            if self.left == 0 and not self._after:
                raise Crash
            given = found(*arguments, **options)
            if self.left == 0:
                raise Crash
            return given

        return call


@pytest.mark.parametrize("after", [False, True], ids=["before it had effect", "after it had"])
def test_a_run_over_a_repository_killed_at_any_write_left_no_cursor_ahead(after: bool) -> None:  # noqa: FBT001
    crashes = 0
    for left in range(1, 50):
        work = repository()
        moved(work)
        whole = work.context
        store = replace(whole.store, writer=Stops(work.writer, left, after=after))
        work.context = replace(whole, store=store)
        try:
            work.finish()
        except Crash:
            crashes += 1
        else:
            break
        work.context = whole
        found, behind = repo_compared(work)
        assert found == {}
        assert behind == "a run was cut short: compared as the next one leaves it"
        work.finish()
        assert repo_compared(work) == CLEAN
    assert 2 < crashes < 49


def test_a_repository_whose_tip_has_moved_on_is_behind_and_not_different() -> None:
    work = repository()
    held = work.source.current
    assert repo_compared(work) == CLEAN
    moved(work)
    found, behind = repo_compared(work)
    assert found == {}
    assert behind == (
        f"the repository is at {work.source.current[:12]}, the collection at {held[:12]}"  # type: ignore[index]
    )


def test_damage_is_found_at_the_commit_that_is_held_even_where_the_tip_would_mend_it() -> None:
    work = repository()
    moved(work)
    lost = next(each.id for each in work.parts("a.md"))
    del work.writer.held[lost]
    assert repo_compared(work)[0] == {lost: "missing"}


def test_a_commit_that_the_mirror_lost_is_compared_as_the_next_run_leaves_it() -> None:
    work = repository()
    work.source.amend({"a.md": page("new")})
    assert isinstance(work.context.repository, FakeRepository)
    work.context.repository.prune()
    found, behind = repo_compared(work)
    assert found == {}
    assert behind == "the commit that is held is pruned: compared as the next run leaves it"


def test_a_repository_read_by_other_rules_is_behind() -> None:
    work = repository()
    work.context = replace(work.context, rules="r2")
    assert repo_compared(work) == (
        {},
        "settings or rules changed: compared as the next run leaves it",
    )


def test_a_commit_that_was_never_read_is_seen_by_what_is_missing() -> None:
    work = repository()
    moved(work)
    record = work.record
    work.ledger.put(record.at(replace(record.cursor, commit=work.source.current)))
    clean, stored = work.clean(), work.stored()
    differ = {each for each in clean | stored if clean.get(each) != stored.get(each)}
    found, behind = repo_compared(work)
    assert found.keys() == differ
    assert "missing" in found.values()
    assert behind is None


def test_a_repository_that_no_run_has_read_is_told() -> None:
    work = Work()
    work.source.commit({"a.md": page("one")})
    with pytest.raises(NeverRead):
        repo_compared(work)


def test_a_repository_without_a_commit_holds_nothing() -> None:
    work = Work()
    work.finish()
    assert repo_compared(work) == CLEAN
    other = repository()
    work.writer.write([*other.writer.held.values()][:1])
    assert set(repo_compared(work)[0].values()) == {"extra"}


def test_a_repository_that_answers_without_any_commit_is_not_taken_for_an_empty_one() -> None:
    work = repository()
    work.source.current = None
    with pytest.raises(RepositoryUnreadable):
        repo_compared(work)


def test_nothing_is_embedded() -> None:
    work, chat = repository(), RoomWork()
    room = talk(chat)
    before = work.embedder.embedded, chat.embedder.embedded
    repo_compared(work)
    room_compared(chat, room)
    assert (work.embedder.embedded, chat.embedder.embedded) == before
