"""The work on a repository over fakes: every step, every crash, every move of the branch."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from search.collection import fingerprint_of
from search.ledger import Position, SourceRecord
from search.listing import RepositorySettings
from search.passage import Passage
from search.settings import Settings
from tasks import repo_commits, repo_files, repos
from tasks.commit import commit
from tasks.context import RepoContext, Store
from tasks.domain.cursors import FIRST
from tasks.errors import (
    CursorMoved,
    NameClash,
    RepositoryBusy,
    RepositoryUnreadable,
    SettingsChanged,
    TooManyDeletes,
    UnknownCommit,
    WritesNotAcknowledged,
)
from tasks.ports import Vectors
from tasks.repo_plan import Plans
from tests.support.fake_repository import FakeRepository, FakeSource
from tests.support.fakes import (
    FakeChunker,
    FakeEmbedder,
    FakeLedger,
    FakePassageWriter,
    FakeScrubber,
)

SOURCE = "repo:one"
LOST = (UnknownCommit, RepositoryBusy)
"""What a step meets when the mirror lost the target: the next run takes another."""


class Work:
    """One repository, one store, and what a run of tasks does with them."""

    def __init__(self, source: FakeSource | None = None, *, identity: str = "one") -> None:
        self.source = source or FakeSource()
        self.writer = FakePassageWriter()
        self.ledger = FakeLedger()
        self.embedder = FakeEmbedder()
        self.context = RepoContext(
            listed=RepositorySettings(name="one", url="/one"),
            settings=Settings(data_dir=Path("/none"), cache_dir=Path("/none")),
            repository=FakeRepository(self.source),
            store=Store(self.writer, self.ledger),
            embedder=self.embedder,
            chunker=FakeChunker(),
            scrubber=FakeScrubber(),
            rules="r1",
            commit_rules="c1",
            admission="a1",
            identity=identity,
        )

    @property
    def record(self) -> SourceRecord:
        return self.ledger.record(SOURCE)

    def step(self) -> bool:
        acknowledgement = repos.upsert(self.context, allow_mass_delete=True)
        commit(self.context.store, acknowledgement)
        return acknowledgement.finished

    def finish(self) -> None:
        if repos.begin(self.context).to_do:
            while not self.step():
                pass

    def stored(self) -> dict[str, str]:
        return {each.id: fingerprint_of(each) for each, _ in self.writer.held.values()}

    def parts(self, path: str) -> list[Passage]:
        return [passage for passage, _ in self.writer.held.values() if passage.path == path]

    def clean(self, tip: str | None = None) -> dict[str, str]:
        """What one run over the tip, or over ``tip``, into an empty store leaves."""
        source = FakeSource(self.source.commits, tip or self.source.current)
        other = Work(source)
        other.finish()
        return other.stored()


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repo_files, "MOST_FILES", 2)
    monkeypatch.setattr(repo_commits, "MOST_COMMITS", 3)
    monkeypatch.setattr(repos, "_plans", Plans())


def page(words: str) -> str:
    return f"Words: {words}.\n\nMore of {words}.\n"


def test_a_failed_write_leaves_the_cursor_and_the_old_passages() -> None:
    work = Work()
    first = work.source.commit({"a.md": page("old")})
    work.finish()
    before, cursor = work.stored(), work.record.cursor
    work.source.commit({"a.md": page("new"), "b.md": page("other")})
    repos.begin(work.context)
    work.writer.losing = {each for each in before if before[each]} | {"x"}
    with pytest.raises(WritesNotAcknowledged):
        work.step()
    assert work.record.cursor.commit == cursor.commit == first
    assert before.items() <= work.stored().items()
    work.writer.losing = set()
    work.finish()
    assert work.stored() == work.clean()


def test_the_cursor_does_not_move_before_everything_is_written() -> None:
    work = Work()
    work.source.commit({"a.md": page("a"), "b.md": page("b"), "c.md": page("c")})
    repos.begin(work.context)
    assert not work.step()
    assert work.record.cursor.commit is None
    assert work.stored() != work.clean()
    work.finish()
    assert work.record.cursor.commit == work.source.current


def test_new_passages_are_written_before_stale_ones_are_deleted() -> None:
    work = Work()
    work.source.commit({"old.md": page("moved"), "z.md": page("z")})
    work.finish()
    old = {each.path for each, _ in work.writer.held.values()}
    work.source.commit({"old.md": None, "new.md": page("moved")})
    repos.begin(work.context)
    while True:
        finished = work.step()
        paths = {each.path for each, _ in work.writer.held.values()}
        assert "new.md" in paths or old <= paths
        if finished:
            break
    assert "old.md" not in paths


def test_w06_a_delete_that_the_store_did_not_do_is_not_acknowledged() -> None:
    work = Work()
    work.source.commit({"a.md": page("a"), "b.md": page("b")})
    work.finish()
    work.writer.keeping = {each.id for each, _ in work.writer.held.values() if each.path == "a.md"}
    work.source.commit({"a.md": None})
    with pytest.raises(WritesNotAcknowledged, match="0 of 2 deletes"):
        work.finish()
    assert (work.record.state, work.record.cursor.commit) == ("deleting", None)
    work.writer.keeping = set()
    work.finish()
    assert work.stored() == work.clean()


def test_a_repository_that_answers_without_commits_deletes_nothing() -> None:
    work = Work()
    work.source.commit({"a.md": page("a")})
    work.finish()
    before, cursor = work.stored(), work.record.cursor
    work.source.current = None
    with pytest.raises(RepositoryUnreadable, match="Nothing was deleted"):
        work.finish()
    assert (work.stored(), work.record.cursor) == (before, cursor)


def test_nothing_new_reads_no_blob_and_embeds_nothing() -> None:
    work = Work()
    work.source.commit({"a.md": page("a")})
    work.finish()
    embedded = work.embedder.embedded
    repository = work.context.repository
    assert isinstance(repository, FakeRepository)
    read = list(repository.blobs_read)
    assert not repos.begin(work.context).to_do
    assert (work.embedder.embedded, repository.blobs_read) == (embedded, read)


def test_an_unchanged_blob_is_not_read_again() -> None:
    work = Work()
    work.source.commit({"a.md": page("a"), "b.md": page("b")})
    work.finish()
    repository = work.context.repository
    assert isinstance(repository, FakeRepository)
    repository.blobs_read.clear()
    work.source.commit({"b.md": page("c")})
    work.finish()
    assert len(repository.blobs_read) == 1


def test_most_of_a_source_is_deleted_only_when_that_was_allowed() -> None:
    work = Work()
    work.source.commit({f"{n:03}.md": page(str(n)) for n in range(60)})
    work.finish()
    before = work.stored()
    work.source.commit({f"{n:03}.md": None for n in range(55)})
    repos.begin(work.context)
    while work.record.cursor.position != Position("deletes"):
        work.step()
    with pytest.raises(TooManyDeletes) as caught:
        repos.upsert(work.context)
    assert (caught.value.deletes, caught.value.stored) == (110, 122)
    assert before.items() <= work.stored().items()
    work.finish()
    assert work.stored() == work.clean()


def test_an_exclusion_is_never_held_back_however_much_it_removes() -> None:
    work = Work()
    work.source.commit({f"{n:03}.md": page(str(n)) for n in range(60)})
    work.finish()
    object.__setattr__(work.context, "admission", "a2")
    listed = work.context.listed.model_copy(update={"exclude": ("0[0-4]*.md",)})
    object.__setattr__(work.context, "listed", listed)
    repos.begin(work.context)
    while True:
        acknowledgement = repos.upsert(work.context, allow_mass_delete=False)
        commit(work.context.store, acknowledgement)
        if acknowledgement.finished:
            break
    paths = {each.path for each, _ in work.writer.held.values()}
    assert paths == {"", *(f"{n:03}.md" for n in range(50, 60))}


@pytest.mark.parametrize(("path", "mark"), [("vendor/a.py", "vendored"), ("a_pb2.py", "generated")])
def test_gitattributes_take_a_file_in_and_leave_it_out_again(path: str, mark: str) -> None:
    work = Work()
    work.source.commit({path: page("ours"), "b.md": page("other")})
    work.finish()
    assert work.parts(path) == []
    work.source.commit({".gitattributes": f"{path} -linguist-{mark}\n"})
    work.finish()
    assert len(work.parts(path)) == 2
    assert work.stored() == work.clean()
    work.source.commit({".gitattributes": None})
    work.finish()
    assert work.stored() == work.clean()
    assert {each.path for each, _ in work.writer.held.values()} == {"b.md", ""}


def test_a_file_taken_in_whatever_its_shape_goes_when_its_shape_counts_again() -> None:
    bundle = "!function(e,t){return e(t)}(a,b);" * 300
    work = Work()
    work.source.commit({"app.js": bundle, ".gitattributes": "app.js -linguist-generated\n"})
    work.finish()
    assert "app.js" in {each.path for each, _ in work.writer.held.values()}
    work.source.commit({".gitattributes": None})
    work.finish()
    assert "app.js" not in {each.path for each, _ in work.writer.held.values()}
    assert work.stored() == work.clean()


def test_an_include_that_names_a_vendored_folder_takes_it() -> None:
    work = Work()
    work.source.commit({"vendor/ours/a.py": page("ours"), "vendor/theirs/a.py": page("theirs")})
    listed = RepositorySettings(name="one", url="/one", include=("vendor/ours/**", "**/*.py"))
    work.context = replace(work.context, listed=listed)
    work.finish()
    assert {each.path for each, _ in work.writer.held.values()} == {"vendor/ours/a.py", ""}


def test_w32_of_a_file_that_gets_shorter_the_old_higher_parts_go() -> None:
    work = Work()
    work.source.commit({"a.md": "one\n\ntwo\n\nthree"})
    work.finish()
    assert {part.text for part in work.parts("a.md")} == {"one", "two", "three"}
    work.source.commit({"a.md": "one"})
    work.finish()
    assert {part.text for part in work.parts("a.md")} == {"one"}
    work.source.commit({"a.md": ""})
    work.finish()
    assert work.parts("a.md") == []


def test_settings_that_change_during_a_run_end_it_and_the_next_starts_over() -> None:
    work = Work()
    work.source.commit({f"{name}.md": page(name) for name in "abcdef"})
    repos.begin(work.context)
    work.step()
    object.__setattr__(work.context, "admission", "a2")
    with pytest.raises(SettingsChanged):
        work.step()
    object.__setattr__(work.context, "admission", "a1")
    work.finish()
    assert work.stored() == work.clean()


def test_what_another_run_noted_during_the_fetch_is_not_overwritten() -> None:
    work = Work()
    work.source.commit({"a.md": page("a")})
    work.finish()
    work.source.commit({"a.md": page("b")})

    class SlowFetch(FakeRepository):
        def fetch(self, commit: str | None = None) -> None:
            super().fetch(commit)
            noted = replace(work.record.cursor, targets=("other",), since=("x",), position=FIRST)
            work.ledger.put(replace(work.record, cursor=noted))

    object.__setattr__(work.context, "repository", SlowFetch(work.source))
    with pytest.raises(CursorMoved):
        repos.begin(work.context)
    assert work.record.cursor.targets == ("other",)


def test_what_came_late_from_another_run_is_found_by_the_next() -> None:
    work, other = Work(), Work()
    first = work.source.commit({"a.md": page("a")})
    work.finish()
    object.__setattr__(other.context, "store", work.context.store)
    object.__setattr__(other.context, "repository", FakeRepository(work.source))
    work.source.commit({"gone.md": page("gone")})
    repos.begin(work.context)

    class SlowWriter(FakePassageWriter):
        def write(self, passages: Iterable[tuple[Passage, Vectors]]) -> set[str]:
            work.source.reset(first)
            other.finish()  # a whole run of another machine, before these writes arrive
            return work.writer.write(passages)

    slow = SlowWriter(work.writer.held)
    object.__setattr__(work.context, "store", Store(slow, work.ledger))
    acknowledgement = repos.upsert(work.context)
    with pytest.raises(CursorMoved):
        commit(work.context.store, acknowledgement)
    other.finish()
    assert work.stored() == work.clean()


def test_another_repository_under_the_name_is_refused() -> None:
    work = Work()
    work.source.commit({"a.md": page("a")})
    work.finish()
    before = work.stored()
    impostor = Work(FakeSource(), identity="two")
    impostor.source.commit({"b.md": page("b")})
    store = Store(work.writer, work.ledger)
    object.__setattr__(impostor.context, "store", store)
    with pytest.raises(NameClash, match="another repository"):
        impostor.finish()
    assert work.stored() == before


class Runs(RuleBasedStateMachine):
    """Edits, rewritten history, pruning and kills at any step: always as one clean run."""

    paths = st.sampled_from(["a.md", "b/c.md", "b.md", "d.md", "e.md"])
    words = st.sampled_from(["ravens", "wolves", "ships", "runes"])

    @initialize()
    def start(self) -> None:
        repos._plans = Plans()  # commits of two examples can share an id
        self.work = Work()
        self.running = False
        self.work.source.commit({"a.md": page("first")})

    @rule(path=paths, words=words)
    def write(self, path: str, words: str) -> None:
        self.work.source.commit({path: page(words)}, message=f"Write {words}")

    @rule(path=paths)
    def delete(self, path: str) -> None:
        self.work.source.commit({path: None}, message=f"Delete {path}")

    @rule(path=paths, words=words)
    def amend(self, path: str, words: str) -> None:
        self.work.source.amend({path: page(words)}, message=f"Amend {words}")

    @rule(data=st.data())
    def move_the_branch(self, data: st.DataObject) -> None:
        self.work.source.reset(data.draw(st.sampled_from(sorted(self.work.source.commits))))

    @rule()
    def lose_what_nothing_leads_to(self) -> None:
        repository = self.work.context.repository
        assert isinstance(repository, FakeRepository)
        repository.prune()

    @rule(from_start=st.booleans())
    def begin(self, from_start: bool) -> None:  # noqa: FBT001
        self.running = repos.begin(self.work.context, from_start=from_start).to_do

    @precondition(lambda self: self.running)
    @rule()
    def step(self) -> None:
        with suppress(*LOST):  # the target itself was lost: the next run takes another
            self.running = not self.work.step()

    @precondition(lambda self: self.running)
    @rule()
    def killed_before_the_commit(self) -> None:
        with suppress(*LOST):
            repos.upsert(self.work.context, allow_mass_delete=True)
        self.running = False

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def killed_in_the_middle_of_the_writes(self, data: st.DataObject) -> None:
        clean = sorted(self.work.clean())
        self.work.writer.losing = set(data.draw(st.lists(st.sampled_from(clean), max_size=5)))
        self.work.writer.keeping = set(self.work.writer.losing)
        before = self.work.record.cursor.commit
        try:
            repos.upsert(self.work.context, allow_mass_delete=True)
        except (WritesNotAcknowledged, *LOST):
            assert self.work.record.cursor.commit in (before, None)
        finally:
            self.work.writer.losing, self.work.writer.keeping = set(), set()
        self.running = False

    @rule()
    def finish(self) -> None:
        self.work.finish()
        self.running = False
        assert self.work.record.cursor.commit == self.work.source.current
        assert self.work.record.state == "current"
        assert self.work.stored() == self.work.clean()

    @invariant()
    def the_cursor_is_never_ahead(self) -> None:
        cursor = self.work.record.cursor
        if cursor.commit is not None and not cursor.targets:
            assert self.work.stored() == self.work.clean(cursor.commit)


TestRuns = Runs.TestCase
TestRuns.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
