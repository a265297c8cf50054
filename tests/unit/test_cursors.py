"""How a repository's cursor moves, and what a run has to look at (spec 2.3, 2.7, 5.4)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from search.ledger import Position, RepoCursor, SourceRecord
from tasks.domain.cursors import (
    FIRST,
    MOST_TARGETS,
    arrived,
    bases,
    begun,
    changed_paths,
    check_deletes,
    restarted,
    set_aside,
)
from tasks.errors import TooManyDeletes

RULES = {"rules": "r1", "admission": "a1"}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
HELD = RepoCursor(commit="held", rules="r1", admission="a1")


def test_a_run_notes_its_target_and_leaves_the_held_commit() -> None:
    cursor = begun(HELD, "new", **RULES, now=NOW)
    noted = (NOW.isoformat(),)
    assert cursor == replace(HELD, targets=("new",), since=noted, position=FIRST)


def test_a_run_towards_the_same_target_goes_on_where_the_last_one_stopped() -> None:
    stopped = replace(HELD, targets=("new",), position=Position("files", after="m.md"))
    assert begun(stopped, "new", **RULES) == stopped


def test_a_run_towards_another_target_starts_over_and_remembers_the_unfinished_one() -> None:
    stopped = replace(HELD, targets=("new",), position=Position("files", after="m.md"))
    cursor = begun(stopped, "newer", **RULES)
    assert (cursor.targets, cursor.position) == (("new", "newer"), FIRST)
    assert bases(cursor) == ("held", "new")


def test_a_target_that_comes_back_is_the_newest_again() -> None:
    """A force-push there and back: what the run in between wrote must be looked at."""
    stopped = replace(HELD, targets=("a", "b"), position=Position("commits"))
    cursor = begun(stopped, "a", **RULES)
    assert (cursor.targets[-1], cursor.position) == ("a", FIRST)
    assert set(bases(cursor) or ()) == {"held", "a", "b"}


@pytest.mark.parametrize("changed", ["rules", "admission"])
def test_changed_rules_make_a_run_go_through_everything(changed: str) -> None:
    cursor = begun(HELD, "new", **RULES | {changed: "other"})
    assert (cursor.commit, cursor.last_commit) == (None, "held")
    assert bases(cursor) is None
    assert getattr(cursor, changed) == "other"


def test_changed_rules_start_an_unfinished_run_over() -> None:
    stopped = replace(HELD, targets=("new",), position=Position("files", after="m.md"))
    cursor = begun(stopped, "new", rules="r2", admission="a1")
    assert (cursor.commit, cursor.targets[-1], cursor.position) == (None, "new", FIRST)


def test_after_too_many_unfinished_runs_everything_is_gone_through() -> None:
    cursor = HELD
    for number in range(MOST_TARGETS):
        cursor = begun(cursor, f"t{number}", **RULES)
    assert len(cursor.targets) == MOST_TARGETS
    assert bases(cursor) is not None
    cursor = begun(cursor, "last", **RULES)
    assert (cursor.targets[-1], bases(cursor), cursor.last_commit) == ("last", None, "held")
    assert len(cursor.since) == len(cursor.targets) == MOST_TARGETS + 1


def test_a_cursor_that_was_set_aside_twice_still_knows_the_last_commit() -> None:
    once = set_aside(HELD)
    assert (once.commit, once.last_commit) == (None, "held")
    assert set_aside(once) == once


def test_a_backfill_knows_nothing_but_the_last_commit() -> None:
    stopped = replace(HELD, targets=("a", "b"), position=Position("commits", done=7))
    cursor = begun(restarted(stopped), "b", **RULES)
    assert bases(cursor) is None
    assert (cursor.targets[-1], cursor.position, cursor.last_commit) == ("b", FIRST, "held")


def test_on_arrival_the_newest_target_is_held_and_nothing_else_is_open() -> None:
    cursor = replace(set_aside(HELD), targets=("a", "b"), position=Position("deletes"))
    assert arrived(cursor) == RepoCursor(commit="b", rules="r1", admission="a1")


def test_what_differs_from_any_tree_is_looked_at_and_what_is_alike_in_all_is_not() -> None:
    def tree(**blobs: str) -> dict[str, tuple[str, str]]:
        return {path: ("100644", blob) for path, blob in blobs.items()}

    held = tree(same="1", changed="1", gone="1", there_and_back="1")
    between = tree(same="1", changed="1", gone="1", there_and_back="2", only_between="1")
    target = tree(same="1", changed="2", there_and_back="1", added="1")
    assert changed_paths([held, between], target) == [
        "added",
        "changed",
        "gone",
        "only_between",
        "there_and_back",
    ]


def test_a_changed_mode_is_a_change() -> None:
    before, after = {"run": ("100644", "1")}, {"run": ("120000", "1")}
    assert changed_paths([before], after) == ["run"]


@pytest.mark.parametrize(
    ("stale", "stored", "stopped"),
    [
        pytest.param(51, 100, True, id="over-half-of-100"),
        pytest.param(50, 100, False, id="half-of-100"),
        pytest.param(99, 99, False, id="all-of-99"),
        pytest.param(100, 100, True, id="all-of-100"),
        pytest.param(0, 1_000, False, id="nothing"),
        pytest.param(501, 1_001, True, id="over-half-of-1001"),
    ],
)
def test_most_of_a_source_is_not_deleted_unasked(stale: int, stored: int, *, stopped: bool) -> None:
    ids = [str(number) for number in range(stale)]
    check_deletes("repo:one", ids, stored, allowed=True)
    if not stopped:
        check_deletes("repo:one", ids, stored, allowed=False)
        return
    with pytest.raises(TooManyDeletes) as refused:
        check_deletes("repo:one", ids, stored, allowed=False)
    assert (refused.value.deletes, refused.value.stored) == (stale, stored)
    assert "--allow-mass-delete" in str(refused.value)


PATHS = ("a", "b", "c", "d")
TREES = st.dictionaries(st.sampled_from(PATHS), st.sampled_from("12"), max_size=4)


class CrashAnywhere(RuleBasedStateMachine):
    """Runs that begin, write path by path, stop anywhere and begin towards other commits.

    ``stored`` is what the collection really holds: path → (blob, rules). The rules of the model:
    a step writes one path of the plan, an end deletes what is stale and commits. ``times`` says
    when each path was stored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.trees: dict[str, dict[str, str]] = {}
        self.tip = ""
        self.version = 1
        self.cursor = RepoCursor()
        self.stored: dict[str, tuple[str, int]] = {}
        self.times: dict[str, datetime] = {}
        self.now = NOW
        self.move(tree={"a": "1", "b": "1"})
        self.run_to_the_end()

    def later(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    @rule(tree=TREES)
    def move(self, tree: dict[str, str]) -> None:
        """The remote's tip is another commit now."""
        self.tip = f"c{len(self.trees)}"
        self.trees[self.tip] = tree

    @rule(data=st.data())
    def move_back(self, data: st.DataObject) -> None:
        self.tip = data.draw(st.sampled_from(sorted(self.trees)))

    @rule()
    def change_the_rules(self) -> None:
        self.version += 1

    @rule(from_start=st.booleans())
    def begin(self, *, from_start: bool) -> None:
        cursor = restarted(self.cursor) if from_start else self.cursor
        new = begun(cursor, self.tip, rules=str(self.version), admission="", now=self.later())
        self.cursor = new

    @rule()
    def run_to_the_end(self) -> None:
        self.begin(from_start=False)
        while self.cursor.position != Position("deletes"):
            self.write_the_next_path()
        self.finish()

    @precondition(lambda self: self.cursor.targets)
    @rule()
    def write_the_next_path(self) -> None:
        position = self.cursor.position
        assert position is not None
        left = [path for path in self.plan() if path > position.after]
        if position.phase != "files" or not left:
            self.cursor = replace(self.cursor, position=Position("deletes"))
            return
        path = left[0]
        if path in self.target():
            passage = self.target()[path], int(self.cursor.rules)
            if self.stored.get(path) != passage:  # only what differs is written
                self.stored[path], self.times[path] = passage, self.later()
        self.cursor = replace(self.cursor, position=Position("files", after=path))

    @precondition(lambda self: self.cursor.targets)
    @rule()
    def write_the_next_path_without_an_acknowledgement(self) -> None:
        before = self.cursor
        self.write_the_next_path()
        self.cursor = before

    @precondition(lambda self: self.cursor.position == Position("deletes"))
    @rule(data=st.data())
    def delete_some_and_crash(self, data: st.DataObject) -> None:
        if stale := self.stale():
            self.cursor = set_aside(self.cursor)
            for path in data.draw(st.sets(st.sampled_from(stale))):
                del self.stored[path]

    @precondition(lambda self: self.cursor.position == Position("deletes"))
    @rule()
    def finish(self) -> None:
        for path in self.stale():
            del self.stored[path]
        self.cursor = arrived(self.cursor)
        assert self.stored == self.clean(self.cursor.commit)

    def stale(self) -> list[str]:
        """Stored paths that the run finds and that its target does not have."""
        found = {*self.stored} if bases(self.cursor) is None else {*self.stored} & {*self.plan()}
        return sorted(found - self.target().keys())

    def target(self) -> dict[str, str]:
        return self.trees[self.cursor.targets[-1]]

    def plan(self) -> list[str]:
        """What the run looks at, as ``make_plan`` derives it."""
        after = self.presented(self.target())
        held = bases(self.cursor)
        if held is None:
            return sorted(after)
        return changed_paths([self.presented(self.trees[base]) for base in held], after)

    def presented(self, tree: dict[str, str]) -> dict[str, tuple[str, str]]:
        return {path: ("100644", blob) for path, blob in tree.items()}

    def clean(self, commit: str | None) -> dict[str, tuple[str, int]]:
        rules = int(self.cursor.rules)
        tree = self.trees[commit] if commit else {}
        return {path: (blob, rules) for path, blob in tree.items()}

    @invariant()
    def every_path_that_may_differ_is_still_to_be_looked_at(self) -> None:
        if not self.cursor.targets:
            return
        clean = self.clean(self.cursor.targets[-1])
        stored = self.stored
        differing = {path for path in {*stored, *clean} if stored.get(path) != clean.get(path)}
        position = self.cursor.position
        assert position is not None
        plan = set(self.plan())
        ahead = {p for p in plan if position.phase == "files" and p > position.after}
        assert differing & clean.keys() <= ahead
        if bases(self.cursor) is not None:  # otherwise the run lists the store
            assert differing <= plan

    @invariant()
    def a_citation_names_a_commit_that_has_the_stored_text(self) -> None:
        record = SourceRecord("repo:one", cursor=self.cursor)
        for path, (blob, _) in self.stored.items():
            cited = record.commit_of(self.times[path])
            assert cited is not None
            assert self.trees[cited][path] == blob


CrashAnywhere.TestCase.settings = settings(
    deadline=None, max_examples=150, stateful_step_count=25, report_multiple_bugs=False
)
TestCrashAnywhere = CrashAnywhere.TestCase


@settings(deadline=None)
@given(TREES, TREES)
def test_changed_paths_turn_one_tree_into_the_other(
    before: dict[str, str], after: dict[str, str]
) -> None:
    machine = CrashAnywhere()
    changed = changed_paths([machine.presented(before)], machine.presented(after))
    patched = {path: blob for path, blob in before.items() if path not in changed}
    patched |= {path: after[path] for path in changed if path in after}
    assert patched == after
    assert changed == sorted(set(changed))
