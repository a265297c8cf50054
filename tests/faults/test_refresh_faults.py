"""Real kills in the middle of a run: nothing lost, nothing doubled, the cursor never ahead."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from search import embedded
from search.connection import connect
from search.ledger import Position
from search.reader import Reader
from search.settings import Settings
from tests.support.community import Community, without_vectors
from tests.support.git_repos import GitRepo
from tests.support.weaviate_server import running_server, say, settings_in

SUBJECTS = ["ravens", "wolves", "ships", "runes", "trees", "giants", "rivers", "halls"]


def page(number: int, words: str = "page") -> str:
    subject = SUBJECTS[number % len(SUBJECTS)]
    return f"# {subject} {number}\n\nThis {words} number {number} speaks of {subject}.\n"


@pytest.fixture
def many(community: Community) -> GitRepo:
    """A first commit that the collection holds, and a second one with 260 more files."""
    repository = community.repository("many")
    repository.commit({"first.md": page(0, "first"), "gone.md": page(1, "gone")}, message="First")
    community.refresh()
    pages = {f"p{number:03}.md": page(number) for number in range(260)}
    repository.commit({**pages, "gone.md": None}, message="Second")
    return repository


def stored_count(community: Community, settings: Settings) -> int:
    with connect(settings, "reader") as client:
        name = Reader(client, community.collection).resolve().name
        counted = client.collections.get(name).aggregate.over_all(total_count=True)
    return counted.total_count or 0


@contextmanager
def once_written(
    community: Community, more_than: int, strike: Callable[[], None]
) -> Iterator[threading.Event]:
    """Strikes, from another thread, as soon as the store holds more than so many passages."""
    struck, over = threading.Event(), threading.Event()
    with community.configured() as settings:
        pass

    def watch() -> None:
        while not over.is_set():
            if stored_count(community, settings) > more_than:
                strike()
                struck.set()
                return
            time.sleep(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield struck
    finally:
        over.set()
        thread.join()


def clean_run(community: Community) -> dict[str, dict[str, object]]:
    clean = Community(community.folder, community.server, community.collection + "Clean")
    clean.repositories, clean.options = community.repositories, community.options
    clean.refresh()
    return without_vectors(clean.passages())


def test_weaviate_killed_in_the_middle_of_the_upserts_loses_nothing(
    tmp_path: Path, binary: Path, collection_name: str, prefect_api: str
) -> None:
    server = settings_in(tmp_path / "server", binary)
    with running_server(server) as running:
        community = Community(tmp_path, server, collection_name)
        repository = community.repository("many")
        first = repository.commit({"first.md": page(0), "gone.md": page(1, "gone")})
        community.refresh()
        repository.commit({f"p{n:03}.md": page(n) for n in range(260)} | {"gone.md": None})
        with once_written(community, 10, lambda: os.kill(running.pid, signal.SIGKILL)) as struck:
            outcome = community.refresh()["repo:many"]
        assert struck.is_set()
        assert outcome.result == "failed"
        assert "Weaviate" in outcome.reason

        again = embedded.ensure_running(server, say)
        assert again.pid != running.pid
        record = community.record("repo:many")
        assert record is not None
        assert record.cursor.commit == first
        assert record.cursor.targets == (repository.tip(),)
        held = len(community.passages())
        assert held > 4

        outcome = community.refresh()["repo:many"]
        assert (outcome.result, outcome.reason) == ("done", None)
        after = community.record("repo:many")
        assert after is not None
        assert after.cursor.commit == repository.tip()
        assert not any("gone" in text for text in community.texts())
        assert without_vectors(community.passages()) == clean_run(community)


def test_a_run_killed_in_the_middle_goes_on_where_it_stopped(
    community: Community, many: GitRepo, prefect_api: str
) -> None:
    first = community.record("repo:many")
    assert first is not None
    environment = os.environ | {
        "HUGINN_CONFIG": str(community.config()),
        "PREFECT_API_URL": prefect_api,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    run = subprocess.Popen(
        [sys.executable, "-c", "from flows.cli import main; main(['refresh'])"],
        env=environment,
        cwd=community.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        with once_written(community, 150, lambda: os.killpg(run.pid, signal.SIGKILL)) as struck:
            run.wait(300)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
    assert struck.is_set()
    assert run.returncode == -signal.SIGKILL
    assert not [child for child in psutil.process_iter() if child.ppid() == run.pid]
    record = community.record("repo:many")
    assert record is not None
    assert record.cursor.commit == first.cursor.commit
    held = len(community.passages())
    before = community.embedder().embedded
    outcome = community.refresh()["repo:many"]
    assert outcome.result == "done"
    assert held > 4
    assert community.embedder().embedded - before < 260, "what was acknowledged is embedded once"
    assert without_vectors(community.passages()) == clean_run(community)


def test_a_history_moved_back_after_a_killed_run_comes_out_clean(
    community: Community, many: GitRepo
) -> None:
    """The target was half written when its branch went back to what the cursor says."""
    first = community.record("repo:many")
    assert first is not None
    assert first.cursor.commit is not None
    from tasks.alone import alone
    from tasks.bootstrap import open_repo
    from tasks.commit import commit
    from tasks.repos import begin, upsert

    with community.configured(), alone("repo:many"), open_repo("many") as context:
        assert begin(context).to_do
        commit(context.store, upsert(context))
        upsert(context)  # written, and killed before its commit
    assert len(community.passages()) > 100
    many.reset(first.cursor.commit)
    assert community.refresh(allow_mass_delete=True)["repo:many"].result == "done"
    assert without_vectors(community.passages()) == clean_run(community)
    assert len(community.passages()) == 3


def test_a_run_killed_while_deleting_is_finished_by_the_next(
    community: Community, many: GitRepo
) -> None:
    from tasks.alone import alone
    from tasks.bootstrap import open_repo
    from tasks.commit import commit
    from tasks.repos import begin, upsert

    with community.configured(), alone("repo:many"), open_repo("many") as context:
        begin(context)
        while context.store.ledger.record("repo:many").cursor.position != Position("deletes"):
            commit(context.store, upsert(context))
        upsert(context)  # deleted, and killed before its commit
        record = context.store.ledger.record("repo:many")
    assert (record.state, record.cursor.commit) == ("deleting", None)
    assert "deleting" in community.search("ravens").unavailable["repo:many"]
    assert community.refresh()["repo:many"].result == "done"
    after = community.record("repo:many")
    assert after is not None
    assert (after.state, after.cursor.commit) == ("current", many.tip())
    assert without_vectors(community.passages()) == clean_run(community)


def test_ctrl_c_loses_nothing_and_says_so(
    community: Community, many: GitRepo, prefect_api: str, server_settings: Settings
) -> None:
    environment = os.environ | {
        "HUGINN_CONFIG": str(community.config()),
        "PREFECT_API_URL": prefect_api,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    run = subprocess.Popen(
        [sys.executable, "-c", "from flows.cli import main; main(['refresh'])"],
        env=environment,
        cwd=community.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with once_written(community, 10, lambda: os.killpg(run.pid, signal.SIGINT)) as struck:
        _, errors = run.communicate(timeout=300)
    assert struck.is_set()
    assert run.returncode == 130, errors
    assert "the next run goes on from there" in errors
    assert "Traceback" not in errors
    assert embedded.running(server_settings) is not None
    assert community.refresh()["repo:many"].result == "done"
    assert without_vectors(community.passages()) == clean_run(community)
