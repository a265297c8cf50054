"""What a run has to look at, derived from the cursor (spec 5.4, 2.7)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.ledger import Position, RepoCursor
from tasks.domain.cursors import FIRST, begun
from tasks.errors import UnknownCommit
from tasks.ports import Tree
from tasks.repo_plan import MOST_CACHED, Plan, Plans, make_plan
from tasks.repo_step import after_files, first_position
from tests.support.fake_repository import FakeRepository, FakeSource

RULES = {"rules": "r1", "admission": "a1"}


@dataclass
class CountingRepository(FakeRepository):
    """Remembers which trees it gave out."""

    trees: list[str] = field(default_factory=list)

    def tree(self, commit: str) -> Tree:
        self.trees.append(commit)
        return super().tree(commit)


@pytest.fixture
def source() -> FakeSource:
    made = FakeSource()
    made.commit({"a.md": "a", "b.md": "b", "c.md": "c"}, message="First")
    return made


def mirror(source: FakeSource) -> CountingRepository:
    repository = CountingRepository(source)
    repository.fetch()
    return repository


def plan_of(source: FakeSource, cursor: RepoCursor, *, commit_messages: bool = True) -> Plan:
    return make_plan(mirror(source), cursor, commit_messages=commit_messages)


def towards(target: str, *, held: str | None, unfinished: tuple[str, ...] = ()) -> RepoCursor:
    cursor = RepoCursor(commit=held, rules="r1", admission="a1")
    for each in (*unfinished, target):
        cursor = begun(cursor, each, **RULES)
    return cursor


def test_a_first_run_looks_at_everything(source: FakeSource) -> None:
    first = source.commit({"b.md": "more"}, message="Second")
    plan = plan_of(source, towards(first, held=None))
    assert plan.whole
    assert plan.paths == ("a.md", "b.md", "c.md")
    assert plan.commits == tuple(source.commits)
    assert plan.all_commits == frozenset(source.commits)
    assert plan.stale_commits == frozenset()


def test_a_later_run_looks_at_what_changed_and_at_new_commits(source: FakeSource) -> None:
    held = source.current
    source.commit({"b.md": "more", "d.md": "d"}, message="Second")
    target = source.commit({"a.md": None}, message="Third")
    plan = plan_of(source, towards(target, held=held))
    assert not plan.whole
    assert plan.paths == ("a.md", "b.md", "d.md")
    assert plan.commits == tuple(source.commits)[1:]
    assert plan.stale_commits == frozenset()


def test_a_renamed_file_is_looked_at_under_both_names(source: FakeSource) -> None:
    held = source.current
    target = source.commit({"a.md": None, "z.md": "a"})
    assert plan_of(source, towards(target, held=held)).paths == ("a.md", "z.md")


def test_an_amended_commit_is_stale_and_its_tree_is_compared(source: FakeSource) -> None:
    held = source.commit({"b.md": "more", "d.md": "d"}, message="Second")
    amended = source.amend({"d.md": None}, message="Second, better")
    repository = mirror(source)
    repository.mirrored.update(source.commits)
    plan = make_plan(repository, towards(amended, held=held), commit_messages=True)
    assert plan.paths == ("d.md",)
    assert plan.commits == (amended,)
    assert plan.stale_commits == {held}


def test_a_commit_that_was_pruned_makes_the_plan_impossible(source: FakeSource) -> None:
    with pytest.raises(UnknownCommit):
        plan_of(source, towards(source.current or "", held="0" * 40))


def test_what_an_unfinished_run_wrote_is_looked_at_again(source: FakeSource) -> None:
    """There and back: the target is like what is held, and yet b.md may be stored otherwise."""
    held = source.current or ""
    between = source.commit({"b.md": "between", "d.md": "d"}, message="Second")
    source.reset(held)
    repository = mirror(source)
    repository.mirrored.update(source.commits)
    cursor = towards(held, held=held, unfinished=(between,))
    plan = make_plan(repository, cursor, commit_messages=True)
    assert plan.paths == ("b.md", "d.md")
    assert plan.stale_commits == {between}
    assert plan.commits == ()


def test_a_run_without_news_has_nothing_to_look_at(source: FakeSource) -> None:
    held = source.current or ""
    plan = plan_of(source, towards(held, held=held))
    assert (plan.paths, plan.commits, plan.stale_commits) == ((), (), frozenset())


@pytest.mark.parametrize("held", [True, False], ids=["later-run", "first-run"])
def test_commit_messages_can_be_left_out(source: FakeSource, *, held: bool) -> None:
    before = source.current if held else None
    target = source.commit({"b.md": "more"}, message="Second")
    plan = plan_of(source, towards(target, held=before), commit_messages=False)
    assert (plan.commits, plan.stale_commits, plan.all_commits) == ((), frozenset(), frozenset())
    assert "b.md" in plan.paths


@pytest.mark.parametrize(
    "attribute",
    ["linguist-generated", "linguist-vendored", "-linguist-generated", "-linguist-vendored"],
)
def test_a_changed_attribute_is_a_change_of_the_file(source: FakeSource, attribute: str) -> None:
    held = source.current
    target = source.commit({".gitattributes": f"b.md {attribute}\n"})
    assert plan_of(source, towards(target, held=held)).paths == (".gitattributes", "b.md")


def test_steps_of_one_run_share_a_plan_and_another_target_gets_its_own(source: FakeSource) -> None:
    repository, plans = mirror(source), Plans()
    cursor = towards(source.current or "", held=None)
    first = plans.plan("repo:one", repository, cursor, commit_messages=True)
    later = replace(cursor, position=Position("deletes"))
    assert plans.plan("repo:one", repository, later, commit_messages=True) is first
    assert len(repository.trees) == 1
    aside = replace(cursor, targets=(*cursor.targets, source.commit({"d.md": "d"})))
    repository.fetch()
    assert plans.plan("repo:one", repository, aside, commit_messages=True) is not first
    assert plans.plan("repo:two", repository, cursor, commit_messages=True) is not first


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda cursor: replace(cursor, commit=cursor.targets[0]), id="commit"),
        pytest.param(lambda cursor: replace(cursor, rules="r2"), id="rules"),
        pytest.param(lambda cursor: replace(cursor, admission="a2"), id="admission"),
    ],
)
def test_a_plan_is_not_reused_for_a_cursor_that_means_something_else(
    source: FakeSource, change: Callable[[RepoCursor], RepoCursor]
) -> None:
    repository, plans = mirror(source), Plans()
    cursor = towards(source.current or "", held=None)
    first = plans.plan("repo:one", repository, cursor, commit_messages=True)
    other = change(cursor)
    assert plans.plan("repo:one", repository, other, commit_messages=True) is not first


def test_only_the_last_few_plans_are_kept(source: FakeSource) -> None:
    repository, plans = mirror(source), Plans()
    cursor = towards(source.current or "", held=None)
    for number in range(MOST_CACHED + 1):
        plans.plan(f"repo:{number}", repository, cursor, commit_messages=False)
    plans.plan(f"repo:{MOST_CACHED}", repository, cursor, commit_messages=False)
    assert len(repository.trees) == MOST_CACHED + 1
    plans.plan("repo:0", repository, cursor, commit_messages=False)
    assert len(repository.trees) == MOST_CACHED + 2


def test_a_run_starts_at_the_first_phase_that_has_something_to_do(source: FakeSource) -> None:
    held = source.current or ""
    only_a_commit = source.commit({}, message="Nothing but words")
    words = plan_of(source, towards(only_a_commit, held=held))
    files = plan_of(source, towards(only_a_commit, held=held), commit_messages=False)
    whole = plan_of(source, towards(only_a_commit, held=None))
    assert first_position(whole) == FIRST
    assert after_files(whole) == Position("commits")
    assert first_position(words) == Position("commits")
    assert first_position(files) == Position("deletes")


TREES = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d/e", "d/f"]), st.sampled_from(["1", "2", ""])
)


@settings(deadline=None, max_examples=60)
@given(st.lists(TREES, min_size=2, max_size=5), st.data())
def test_every_path_whose_stored_state_may_differ_is_in_the_plan(
    trees: list[dict[str, str]], data: st.DataObject
) -> None:
    """Any of the unfinished targets may have written any of its paths; the rest is as held."""
    source = FakeSource()
    shas = []
    for tree in trees:
        removed = dict.fromkeys(source.commits[source.current].files) if source.current else {}
        shas.append(source.commit(removed | tree))
    repository = mirror(source)
    target = shas[-1]
    unfinished = data.draw(st.lists(st.sampled_from(shas), max_size=3))
    cursor = towards(target, held=shas[0], unfinished=tuple(unfinished))
    stored = dict(trees[0])
    for sha in unfinished:
        tree = trees[shas.index(sha)]
        for path in data.draw(st.sets(st.sampled_from(sorted(tree)))) if tree else ():
            stored[path] = tree[path]
    differing = {path for path in {*stored, *trees[-1]} if stored.get(path) != trees[-1].get(path)}
    assert differing <= set(make_plan(repository, cursor, commit_messages=False).paths)
