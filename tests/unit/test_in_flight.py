"""A store whose server dies in the middle of a batch and comes back with halves of it."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import pytest

from search.errors import ServerUnavailable
from search.passage import Passage
from tasks import in_flight, removal, repo_files, repos, rooms
from tasks.commit import commit, mark_unavailable
from tasks.context import Store
from tasks.discover_rooms import discover
from tasks.domain.acknowledgement import Acknowledgement
from tasks.domain.leases import Claim
from tasks.domain.purges import Purge
from tasks.errors import LeaseLost
from tasks.lease import CLAIM
from tasks.ports import Vectors
from tasks.purge import delete_now
from tasks.repo_plan import Plans
from tests.support.fake_rooms import RoomWork, at
from tests.support.fakes import FakeLedger, FakePassageWriter, file_passage, vectors_for
from tests.unit.test_repos import SOURCE, Work, page
from tests.unit.test_rooms_tasks import check


@pytest.fixture(autouse=True)
def _plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repos, "_plans", Plans())


@dataclass
class TornWriter(FakePassageWriter):
    """Seen on Weaviate 1.39 after a SIGKILL: an object that is there by id, but for no filter.

    ``dies`` in how many writes or deletes from now. What is in ``torn`` no list shows, and writing
    it again is answered without an error and changes nothing.
    """

    dies: int | None = None
    torn: set[str] = field(default_factory=set)

    def write(self, passages: Iterable[tuple[Passage, Vectors]]) -> set[str]:
        pairs = list(passages)
        self._perhaps_die([passage.id for passage, _ in pairs])
        return super().write(pair for pair in pairs if pair[0].id not in self.torn)

    def delete(self, ids: Sequence[str]) -> set[str]:
        self._perhaps_die(ids)
        return super().delete(ids)

    def expunge(self, ids: Sequence[str]) -> None:
        self.torn -= set(ids)
        super().expunge(ids)

    def _perhaps_die(self, ids: Sequence[str]) -> None:
        if self.dies is None or not ids:
            return
        self.dies -= 1
        if self.dies < 0:
            self.dies = None
            for each in ids:
                self.torn.add(each)
                self.held.pop(each, None)
            raise ServerUnavailable("it died")


def died(run: Callable[[], object]) -> bool:
    """Whether the store died in the run."""
    try:
        run()
    except ServerUnavailable:
        return True
    return False


def torn(work: Work | RoomWork) -> TornWriter:
    writer = TornWriter(work.writer.held, now=work.writer.now, times=work.writer.times)
    work.writer = writer
    return writer


def test_a_repository_is_as_after_a_clean_run_wherever_the_store_died_in_it() -> None:
    deaths = 0
    while deaths < 100:
        work = Work()
        writer = torn(work)
        object.__setattr__(work.context, "store", Store(writer, work.ledger))
        work.source.commit({f"{name}.md": page(name) for name in "abcdef"})
        work.finish()
        work.source.commit({"a.md": page("other"), "b.md": None, "g.md": page("g")})
        writer.dies = deaths
        if not died(work.finish):
            break
        deaths += 1
        assert writer.torn
        work.finish()
        assert writer.torn == set()
        assert work.stored() == work.clean()
        assert work.ledger.document(in_flight.IN_FLIGHT, SOURCE) is None
    assert 2 < deaths < 100


@pytest.mark.parametrize("change", ["edit", "redact", "send"])
def test_a_room_is_as_after_a_clean_run_wherever_the_store_died_in_it(change: str) -> None:
    deaths = 0
    while deaths < 100:
        work = RoomWork()
        writer = torn(work)
        work.index._writer = writer  # type: ignore[attr-defined]
        room = work.room("cyd")
        events = [
            work.community.send(room, "ada", f"{word} " * 4, at(number))
            for number, word in enumerate(["ravens", "wolves", "runes", "trees", "giants"])
        ]
        work.refresh()
        if change == "edit":
            work.community.edit(room, "ada", events[1], "ships " * 12, at(9))
        elif change == "redact":
            work.community.redact(room, "ada", events[1])
        else:
            work.community.send(room, "bob", "late " * 4, at(0.5))
        writer.dies = deaths
        if not died(work.refresh):
            break
        deaths += 1
        assert writer.torn
        work.refresh()
        assert writer.torn == set()
        check(work, room)
    assert 0 < deaths < 100


def test_what_a_removal_left_half_deleted_is_deleted_by_the_next() -> None:
    ledger, writer = FakeLedger(), TornWriter()
    store = Store(writer, ledger)
    one = file_passage("one")
    in_flight.write(store, one.source, [(one, vectors_for("one"))])
    writer.dies = 0
    with pytest.raises(ServerUnavailable):
        removal.remove(store, one.source)
    assert writer.torn == {one.id}
    removal.remove(store, one.source)
    assert writer.torn == set()
    assert ledger.kept == {}


def test_what_a_purge_left_half_deleted_is_deleted_by_the_next() -> None:
    work = RoomWork()
    writer = torn(work)
    work.index._writer = writer  # type: ignore[attr-defined]
    room = work.room("cyd")
    work.community.send(room, "ada", "ravens", at(1))
    work.refresh()
    purge = Purge(room, at(0), at(9))
    writer.dies = 0
    with pytest.raises(ServerUnavailable):
        delete_now(work.chat.store, work.index, purge)
    assert writer.torn
    delete_now(work.chat.store, work.index, purge)
    assert writer.torn == set()


def test_an_acknowledged_batch_is_never_undone() -> None:
    ledger, writer = FakeLedger(), TornWriter()
    store = Store(writer, ledger)
    one, two = file_passage("one"), file_passage("two", "b.md")
    pairs = [(each, vectors_for(each.text)) for each in (one, two)]
    assert in_flight.write(store, one.source, pairs) == {one.id, two.id}
    assert in_flight.undo(store, one.source) == 0
    assert set(writer.held) == {one.id, two.id}
    writer.losing = {two.id}
    assert in_flight.write(store, one.source, pairs) == {one.id}
    assert in_flight.undo(store, one.source) == 2
    assert not writer.held


def test_a_run_that_lost_its_lease_writes_deletes_and_commits_nothing() -> None:
    def lost(source: str) -> None:
        raise LeaseLost(source)

    work = Work()
    work.source.commit({"a.md": page("a")})
    work.finish()
    held, record = work.stored(), work.record
    store = Store(work.writer, work.ledger, lost)
    doings: list[Callable[[], object]] = [
        lambda: in_flight.write(store, SOURCE, [(file_passage("new"), vectors_for("new"))]),
        lambda: in_flight.delete(store, SOURCE, [*held]),
    ]
    for doing in doings:
        with pytest.raises(LeaseLost):
            doing()
    assert (work.stored(), work.record) == (held, record)
    assert work.ledger.kept == {}
    further = replace(record.cursor, commit="further")
    with pytest.raises(LeaseLost):
        commit(store, Acknowledgement(SOURCE, record.cursor, further))
    assert work.record.cursor.commit is None  # nothing is vouched for any more


def test_a_removal_cut_short_leaves_nothing_that_a_later_run_takes_for_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run before it had stopped half-way, and the repository is listed again."""
    monkeypatch.setattr(repo_files, "MOST_FILES", 2)
    monkeypatch.setattr(removal, "AT_ONCE", 4)
    work = Work()
    writer = torn(work)
    object.__setattr__(work.context, "store", Store(writer, work.ledger))
    work.source.commit({f"{name}.md": page(name) for name in "abcdef"})
    repos.begin(work.context)
    assert not work.step()
    assert not work.step()
    writer.dies = 1
    with pytest.raises(ServerUnavailable):
        removal.remove(work.context.store, SOURCE)
    work.finish()
    assert work.stored() == work.clean()


def test_a_batch_that_lands_after_its_lease_was_lost_is_not_trusted() -> None:
    """Its run was stopped in the middle; another took over and dealt with a redaction."""
    work = RoomWork()
    room = work.room("cyd")
    work.community.send(room, "ada", "ravens", at(0))
    work.refresh()
    regretted = work.community.send(room, "bob", "regretted words", at(2))
    work.discover()
    work.begin(room)
    lost = False

    def owned(source: str) -> None:
        if lost:
            raise LeaseLost(source)

    class Stopped(FakePassageWriter):
        def write(self, passages: Iterable[tuple[Passage, Vectors]]) -> set[str]:
            nonlocal lost
            pairs, lost = list(passages), True
            work.community.redact(room, "bob", regretted)
            work.refresh()
            assert work.bodies(room) == ["ravens"]
            return work.writer.write(pairs)

    context = work.context(room)
    late = Stopped(work.writer.held, now=work.writer.now, times=work.writer.times)
    store = replace(context.store, writer=late, owned=owned)
    with pytest.raises(LeaseLost):
        rooms.upsert(replace(context, store=store))
    work.refresh()
    check(work, room)


def test_a_source_that_another_run_is_at_work_on_is_not_noted_as_fresh() -> None:
    work = RoomWork()
    room = work.room("cyd")
    work.community.send(room, "ada", "ravens", at(0))
    work.refresh()
    before = work.record(room)
    chat = work.chat
    busy = replace(chat.store, idle=lambda _: nullcontext(enter_result=False))
    found = discover(replace(chat, store=busy))
    assert (found.due, found.unchanged) == ([room], [])
    assert work.record(room) == before


def test_a_source_that_another_machine_claims_is_neither_fresh_nor_marked_unavailable() -> None:
    work = RoomWork()
    room = work.room("cyd")
    work.community.send(room, "ada", "ravens", at(0))
    work.refresh()
    before = work.record(room)
    claim = Claim(before.source, "run", "elsewhere")
    work.ledger.put_document(CLAIM, claim.as_json(), claim.key)
    assert discover(work.chat).due == [room]
    mark_unavailable(work.chat.store, {before.source: "not told", "chat:!other": "not told"})
    assert work.record(room) == before
    assert work.ledger.record("chat:!other").state == "failed"
