"""Which commit messages are taken, and that a changed choice applies to what is held (spec 5.2)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from search.settings import ForgeSettings
from tasks import repos
from tasks.domain.commits import skip_commit
from tasks.ports import CommitMessage
from tasks.repo_plan import Plans
from tests.unit.test_repos import Work

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
COMMIT = CommitMessage("a" * 40, "Ada Lovelace", WHEN, "Weave the numbers\n", 1)
MERGE = replace(COMMIT, message="Merge branch 'loom'", parents=2)
BOT = replace(COMMIT, author="Dependabot[bot]")


@pytest.fixture(autouse=True)
def _no_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repos, "_plans", Plans())


@pytest.mark.parametrize(
    ("commit", "merges", "bots", "reason"),
    [
        (COMMIT, False, False, None),
        (MERGE, False, True, "merge"),
        (MERGE, True, True, None),
        (BOT, True, False, "bot"),
        (BOT, True, True, None),
        (replace(COMMIT, author="Bot and Sons"), False, False, None),
        (replace(COMMIT, message=" \n"), True, True, "blank"),
        (replace(COMMIT, parents=0), False, False, None),
    ],
    ids=["plain", "merge", "merge-wanted", "bot", "bot-wanted", "a-name", "blank", "root"],
)
def test_merges_and_bots_are_taken_by_setting(
    commit: CommitMessage, reason: str | None, *, merges: bool, bots: bool
) -> None:
    assert skip_commit(commit, merges=merges, bots=bots) == reason


def messages(work: Work) -> set[str]:
    held = (passage for passage, _ in work.writer.held.values())
    return {passage.text for passage in held if passage.kind == "commit"}


def choose(work: Work, **choice: bool) -> None:
    """Other settings, and with them other versions, as ``tasks.bootstrap`` makes them."""
    chosen = work.context.settings.model_copy(update={"forge": ForgeSettings(**choice)})
    version = repr(choice)
    work.context = replace(
        work.context, settings=chosen, commit_rules=f"c{version}", admission=f"a{version}"
    )


def test_a_commit_is_a_passage_with_author_date_and_id() -> None:
    work = Work()
    sha = work.source.commit({"a.md": "words"}, message="Weave it", when="1700000060 +0000")
    work.finish()
    (passage,) = [held for held, _ in work.writer.held.values() if held.kind == "commit"]
    assert (passage.text, passage.authors, passage.commit) == ("Weave it", ("Ada Lovelace",), sha)
    assert passage.start == passage.end == datetime(2023, 11, 14, 22, 14, 20, tzinfo=UTC)


def test_new_messages_are_added_and_the_others_left_alone() -> None:
    work = Work()
    work.source.commit({"a.md": "words"}, message="First")
    work.finish()
    embedded = len(work.embedder.texts)
    work.source.commit({}, message="Second")
    work.finish()
    assert messages(work) == {"First", "Second"}
    assert len(work.embedder.texts) == embedded + 1


def test_a_changed_choice_of_messages_applies_to_what_is_held() -> None:
    work = Work()
    first = work.source.commit({"a.md": "words"}, message="First")
    side = work.source.commit({"b.md": "words"}, message="Side", author="renovate[bot]")
    work.source.commit({}, message="Join", parents=[side, first])
    work.finish()
    assert messages(work) == {"First", "Side"}
    choose(work, merge_commits=True, bot_commits=False)
    work.finish()
    assert messages(work) == {"First", "Join"}
    choose(work, commit_messages=False)
    work.finish()
    assert messages(work) == set()
    assert {held.path for held, _ in work.writer.held.values()} == {"a.md", "b.md"}
