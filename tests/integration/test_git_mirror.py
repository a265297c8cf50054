"""The mirror: private, complete or not there, mended by itself, made by one process at a time."""

import fcntl
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from search.listing import RepositorySettings
from search.settings import ForgeSettings
from tasks.adapters.repositories import GitRepository
from tasks.errors import RepositoryBusy, RepositoryUnreadable
from tests.support.git_repos import ISOLATED, GitRepo, run_git

ROOT = Path(__file__).parents[2]
FETCH = """
import sys
from pathlib import Path
from search.listing import RepositorySettings
from search.settings import ForgeSettings
from tasks.adapters.repositories import GitRepository
repository = GitRepository(
    RepositorySettings(name="thing", url=sys.argv[1]), Path(sys.argv[2]), ForgeSettings()
)
if len(sys.argv) > 3:
    repository._wanted = sys.argv[3]
repository.fetch()
repository.close()
"""


@pytest.fixture(autouse=True)
def git_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name, value in ISOLATED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    config = tmp_path / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    return config


@pytest.fixture
def source(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "source")
    made.commit({"a.md": "one", "docs/b.md": "two"})
    return made


@pytest.fixture
def mirrors(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "mirrors"


Open = Callable[[], GitRepository]


@pytest.fixture
def opened(source: GitRepo, mirrors: Path) -> Open:
    settings = RepositorySettings(name="group/thing", url=str(source.path))
    return lambda: GitRepository(settings, mirrors, ForgeSettings())


def read(repository: GitRepository) -> list[bytes]:
    tip = repository.tip()
    assert tip is not None
    repository.fetch()
    entries = repository.tree(tip).entries
    assert [message.sha for message in repository.commit_messages([tip])] == [tip]
    return [content for _, content in repository.blobs([entry.blob for entry in entries])]


def only_mirror(mirrors: Path) -> Path:
    (mirror,) = mirrors.glob("*.git")
    return mirror


def test_the_mirror_is_private_bare_and_shares_the_object_files_of_a_folder(
    source: GitRepo, opened: Open, mirrors: Path
) -> None:
    assert read(opened()) == [b"one", b"two"]
    mirror = only_mirror(mirrors)
    assert mirror.name.startswith("group-thing-")
    for folder in (mirrors, mirror):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    shared = [path for path in mirror.glob("objects/??/*") if path.stat().st_nlink > 1]
    assert len(shared) == 5
    assert run_git("-C", str(mirror), "rev-parse", "--is-bare-repository") == "true\n"


def test_the_mirror_holds_the_followed_branch_and_no_other_ref(
    source: GitRepo, opened: Open, mirrors: Path
) -> None:
    source.git("update-ref", "refs/pull/1/head", source.commit({"c.md": "3"}, branch="other"))
    repository = opened()
    read(repository)
    moved = source.commit({"a.md": "1"})
    read(repository)
    refs = run_git("-C", str(only_mirror(mirrors)), "show-ref")
    assert refs == f"{moved} refs/huginn/tip\n"


def test_no_hook_runs_while_a_mirror_is_made_and_fetched(
    source: GitRepo, opened: Open, git_config: Path, tmp_path: Path
) -> None:
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    for name in ("reference-transaction", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (hooks / name).chmod(0o700)
    run_git("config", "--file", str(git_config), "init.templateDir", str(hooks.parent))
    run_git("config", "--file", str(git_config), "core.hooksPath", str(hooks))
    read(opened())
    source.commit({"a.md": "1"})
    read(opened())
    assert not (tmp_path / "ran").exists()


def test_a_tip_that_is_already_mirrored_is_not_fetched_again(source: GitRepo, opened: Open) -> None:
    read(opened())
    repository = opened()
    tip = repository.tip()
    assert tip is not None
    source.path.rename(source.path.with_name("away"))
    repository.fetch()
    assert len(repository.tree(tip).entries) == 2


def test_a_remote_that_only_grew_after_the_tip_was_asked_is_read_at_that_tip(
    source: GitRepo, opened: Open
) -> None:
    repository = opened()
    tip = repository.tip()
    assert tip is not None
    source.commit({"a.md": "1"})
    repository.fetch()
    assert len(repository.tree(tip).entries) == 2


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_remote_that_was_rewritten_after_the_tip_was_asked_is_busy(
    source: GitRepo, opened: Open, *, mirrored: bool
) -> None:
    if mirrored:
        read(opened())
    source.commit({"a.md": "1"})
    repository = opened()
    repository.tip()
    source.amend({"a.md": "2"})
    source.prune()
    with pytest.raises(RepositoryBusy, match="changed while it was being read"):
        repository.fetch()
    assert read(repository) == [b"2", b"two"]


def object_file(repository: Path, name: str) -> Path:
    sha = run_git("-C", str(repository), "rev-parse", name).strip()
    (objects,) = [path for path in repository.rglob("objects") if path.is_dir()]
    return objects / sha[:2] / sha[2:]


def lose(path: Path) -> None:
    path.unlink()


def spoil(path: Path) -> None:
    path.unlink()  # its inode is shared with the source
    path.write_bytes(b"no object")


@pytest.mark.parametrize(
    "damage",
    [
        lambda mirror: (mirror / "HEAD").unlink(),
        lambda mirror: (mirror / "config").write_text("[["),
        lambda mirror: (mirror / "refs/huginn/tip.lock").write_text(""),
        lambda mirror: (mirror / "refs/huginn/tip").write_text(""),
        lambda mirror: lose(object_file(mirror, "refs/huginn/tip")),
        lambda mirror: spoil(object_file(mirror, "refs/huginn/tip")),
    ],
    ids=["no HEAD", "bad config", "stale lock", "empty ref", "tip lost", "tip spoilt"],
)
@pytest.mark.parametrize("moved", [False, True], ids=["same tip", "new tip"])
def test_a_damaged_mirror_is_made_anew_by_the_fetch_that_meets_it(
    source: GitRepo, opened: Open, mirrors: Path, damage: Callable[[Path], None], *, moved: bool
) -> None:
    read(opened())
    damage(only_mirror(mirrors))
    if moved:
        source.commit({"a.md": "1"})
    assert read(opened()) == [b"1" if moved else b"one", b"two"]
    assert not list(mirrors.glob("*.part"))


@pytest.mark.parametrize("damage", [lose, spoil])
@pytest.mark.parametrize("place", ["tip^{tree}", "tip:docs", "tip:a.md"])
def test_damage_met_while_reading_throws_the_mirror_away_and_the_next_try_succeeds(
    opened: Open, mirrors: Path, damage: Callable[[Path], None], place: str
) -> None:
    read(opened())
    damage(object_file(only_mirror(mirrors), f"refs/huginn/{place}"))
    with pytest.raises(RepositoryBusy, match="damaged and is thrown away"):
        read(opened())
    assert not list(mirrors.glob("*.git"))
    assert read(opened()) == [b"one", b"two"]


@pytest.mark.parametrize("damage", [lose, spoil])
def test_a_tree_with_a_blob_that_the_mirror_lost_is_not_handed_out(
    opened: Open, mirrors: Path, damage: Callable[[Path], None]
) -> None:
    repository = opened()
    tip = repository.tip()
    assert tip is not None
    opened().fetch()
    damage(object_file(only_mirror(mirrors), "refs/huginn/tip:a.md"))
    with pytest.raises(RepositoryBusy, match="thrown away"):
        repository.tree(tip)


def test_blobs_that_vanish_after_the_tree_was_read_are_no_empty_files(
    opened: Open, mirrors: Path
) -> None:
    repository = opened()
    read(repository)
    other = opened()
    tip = other.tip()
    assert tip is not None
    blobs = [entry.blob for entry in other.tree(tip).entries]
    spoil(object_file(only_mirror(mirrors), "refs/huginn/tip:docs/b.md"))
    reading = other.blobs(blobs)
    assert next(reading)[1] == b"one"
    with pytest.raises(RepositoryBusy, match="thrown away"):
        next(reading)


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("main", RepositoryBusy),  # cannot be told from a branch that moved in between
        ("main^{tree}", RepositoryUnreadable),
        ("main:docs", RepositoryUnreadable),
    ],
)
def test_a_repository_that_is_damaged_itself_says_so(
    source: GitRepo, opened: Open, place: str, error: type[Exception]
) -> None:
    lose(object_file(source.path, place))
    with closing(opened()) as repository, pytest.raises(error, match="git fsck"):
        read(repository)


def test_a_file_whose_content_the_repository_itself_lacks_has_no_size(
    source: GitRepo, opened: Open, mirrors: Path
) -> None:
    lose(object_file(source.path, "main:docs/b.md"))
    for _ in range(2):  # the mirror is not made anew each time
        repository = opened()
        tip = repository.tip()
        assert tip is not None
        repository.fetch()
        entries = repository.tree(tip).entries
        assert [(entry.path, entry.size) for entry in entries] == [("a.md", 3), ("docs/b.md", None)]
        assert list(repository.blobs([entries[0].blob])) == [(entries[0].blob, b"one")]
    (mirror,) = mirrors.glob("*.git")
    assert (mirror / "huginn-lacks").read_text() == entries[1].blob


def test_a_repository_of_sha256_objects_is_read(tmp_path: Path, mirrors: Path) -> None:
    work = tmp_path / "sha256"
    run_git("init", "-q", "--object-format=sha256", "-b", "main", str(work))
    (work / "a.md").write_text("one")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    run_git("-C", str(work), "add", "a.md")
    run_git("-C", str(work), *identity, "commit", "-q", "-m", "Begin")
    for url in (str(work), f"file://{work}"):
        settings = RepositorySettings(name="long", url=url)
        assert read(GitRepository(settings, mirrors, ForgeSettings())) == [b"one"]


@contextmanager
def git_daemon(folder: Path, port: int) -> Iterator[None]:
    program = Path(run_git("--exec-path").strip()) / "git-daemon"
    options = ["--listen=127.0.0.1", f"--port={port}", "--reuseaddr", "--export-all"]
    with subprocess.Popen([program, *options, f"--base-path={folder}", folder]) as daemon:
        try:
            until = time.monotonic() + 240
            while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() < until:
                time.sleep(0.05)
            yield
        finally:
            daemon.terminate()


def test_a_clone_killed_half_way_is_no_mirror_and_the_next_run_makes_a_whole_one(
    source: GitRepo, mirrors: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"git://127.0.0.1:{port}/source"
        wanted = source.tip() or ""
        with subprocess.Popen([sys.executable, "-c", FETCH, url, str(mirrors), wanted]) as child:
            connection, _ = silent.accept()
            helpers = psutil.Process(child.pid).children(recursive=True)
            assert [left.suffix for left in mirrors.iterdir() if left.is_dir()] == [".part"]
            os.kill(child.pid, signal.SIGKILL)
        connection.close()
        psutil.wait_procs(helpers, timeout=120)
    assert not list(mirrors.glob("*.git"))
    settings = RepositorySettings(name="thing", url=url)
    with git_daemon(source.path.parent, port):
        assert read(GitRepository(settings, mirrors, ForgeSettings())) == [b"one", b"two"]
        source.commit({"a.md": "1"})
        assert read(GitRepository(settings, mirrors, ForgeSettings())) == [b"1", b"two"]
    assert not list(mirrors.glob("*.part"))


def test_processes_that_fetch_one_mirror_at_once_all_succeed(
    source: GitRepo, mirrors: Path
) -> None:
    command = [sys.executable, "-c", FETCH, str(source.path), str(mirrors)]
    for _ in range(2):
        children = [subprocess.Popen(command) for _ in range(3)]
        assert [child.wait() for child in children] == [0, 0, 0]
        source.commit({"a.md": "1"})
    assert len(list(mirrors.glob("*.git"))) == 1


def test_a_mirror_that_another_process_holds_for_long_is_busy(
    source: GitRepo, opened: Open, mirrors: Path
) -> None:
    read(opened())
    source.commit({"a.md": "1"})
    settings = RepositorySettings(name="group/thing", url=str(source.path))
    (lock,) = mirrors.glob("*.lock")
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        repository = GitRepository(settings, mirrors, ForgeSettings(git_timeout=0.2))
        repository._wanted = source.tip()
        with pytest.raises(RepositoryBusy, match="another process"):
            repository.fetch()
    assert read(opened()) == [b"1", b"two"]


def test_a_cache_that_cannot_be_written_is_named(source: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = RepositorySettings(name="thing", url=str(source.path))
    repository = GitRepository(settings, tmp_path / "file" / "mirrors", ForgeSettings())
    with pytest.raises(RepositoryUnreadable, match="change cache_dir"):
        repository.fetch()


def test_tidying_a_mirror_drops_nothing_that_a_cursor_may_name(
    source: GitRepo, opened: Open, mirrors: Path
) -> None:
    before = source.commit({"a.md": "before", "c.md": "before"})
    read(opened())
    mirror = only_mirror(mirrors)
    for setting in ("fetch.unpackLimit", "gc.autoPackLimit"):
        run_git("-C", str(mirror), "config", setting, "1")
    for number in range(3):
        source.amend({"a.md": str(number), "c.md": None})
        source.prune()
        read(opened())
    assert len(list(mirror.glob("objects/??/*"))) == 0  # git did tidy up
    repository = opened()
    assert [entry.path for entry in repository.tree(before).entries] == [
        "a.md",
        "c.md",
        "docs/b.md",
    ]
