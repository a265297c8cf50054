"""Progress counts what takes time, and tells the time that is left (flows.display)."""

import io
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console
from rich.progress import Progress

from flows import display
from search.ledger import Position, RepoCursor
from tasks import repo_files, repos
from tasks.progress import Silence, listen
from tasks.repo_plan import Plans
from tasks.repo_work import COMMIT, LOOK, remaining_work, work_of
from tests.unit.test_repos import SOURCE, Work, page


class Heard(Silence):
    def __init__(self) -> None:
        self.total = 0
        self.done = 0.0

    def expect(self, source: str, total: int) -> None:
        assert source == SOURCE
        self.total = total

    def advance(self, source: str, done: float) -> None:
        assert source == SOURCE
        self.done += done


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    monkeypatch.setattr(repos, "_plans", Plans())
    monkeypatch.setattr(repo_files, "MOST_FILES", 2)
    listener = Heard()
    listen(listener)
    yield listener
    listen(Silence())


def test_a_run_hears_of_all_the_work_it_expected(heard: Heard) -> None:
    work = Work()
    work.source.commit({f"{number}.md": page("words") * number for number in range(9)})
    work.finish()
    assert heard.total > 0
    assert heard.done == pytest.approx(heard.total)


def test_a_run_that_goes_on_expects_only_what_is_left(heard: Heard) -> None:
    work = Work()
    work.source.commit({f"{number}.md": page("words") for number in range(8)})
    repos.begin(work.context)
    whole = heard.total
    work.step()
    repos.begin(work.context)
    assert heard.total == whole - 2 * (LOOK + len(page("words")))
    heard.done = 0
    while not work.step():
        pass
    assert heard.done == pytest.approx(heard.total)


def test_a_skipped_file_is_next_to_no_work(heard: Heard) -> None:
    work = Work()
    target = work.source.commit({"logo.png": "x" * 9_000, "a.md": "word" * 100})
    work.context.repository.fetch()
    cursor = RepoCursor(targets=(target,), position=Position("files"))
    plan = Plans().plan(SOURCE, work.context.repository, cursor, commit_messages=True)
    assert work_of(work.context, plan, ["logo.png"], 0) == LOOK
    assert work_of(work.context, plan, ["a.md", "gone.md"], 2) == 2 * LOOK + 400 + 2 * COMMIT
    assert remaining_work(work.context, plan, cursor) == 2 * LOOK + 400 + COMMIT
    ended = replace(cursor, position=Position("deletes"))
    assert remaining_work(work.context, plan, ended) == 0


def test_without_a_terminal_a_line_tells_the_share_and_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    shown = io.StringIO()
    progress = Progress(
        console=Console(file=shown),
        disable=True,
        get_time=lambda: now[0],
        speed_estimate_period=display.RATE_SECONDS,
    )
    told = display.Display(progress)
    told.expect(SOURCE, 1_000)
    for seconds in (60.0, 120.0, 180.0):
        now[0] = seconds
        told.advance(SOURCE, 100)
    lines = shown.getvalue().splitlines()
    assert lines[-1] == f"{SOURCE}: 30 % done, about 7 min left"
