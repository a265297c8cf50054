"""Cases from public bug reports about reading git, with real git (the G numbers are theirs)."""

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from search.errors import UsageError
from search.listing import RepositorySettings
from search.settings import ForgeSettings
from tasks.adapters.git_places import default_repository, identity
from tasks.adapters.repositories import GitRepository
from tasks.errors import RepositoryBusy, RepositoryUnreadable, UnknownCommit
from tests.support.git_repos import ISOLATED, GitRepo, Link, Submodule, run_git

Open = Callable[..., GitRepository]


@pytest.fixture(autouse=True)
def git_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The user's configuration of git, for this test only."""
    for name, value in ISOLATED.items():
        monkeypatch.setenv(name, value)
    config = tmp_path / "gitconfig"
    config.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    return config


@pytest.fixture
def source(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "source")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens repositories that share one folder of mirrors."""
    repositories: list[GitRepository] = []

    def open_one(url: Path | str, branch: str | None = None, seconds: float = 60) -> GitRepository:
        settings = RepositorySettings(name="thing", url=str(url), branch=branch)
        forge = ForgeSettings(git_timeout=seconds)
        repositories.append(GitRepository(settings, tmp_path / "mirrors", forge))
        return repositories[-1]

    yield open_one
    for repository in repositories:
        repository.close()


def children() -> set[psutil.Process]:
    """All processes below this one."""
    return set(psutil.Process().children(recursive=True))


def read(repository: GitRepository) -> dict[str, bytes]:
    """Every file at the tip after a fetch."""
    tip = repository.tip()
    assert tip is not None
    repository.fetch()
    files = [entry for entry in repository.tree(tip).entries if entry.mode.startswith("100")]
    contents = dict(repository.blobs([entry.blob for entry in files]))
    return {entry.path: contents[entry.blob] for entry in files}


@pytest.fixture
def http_asking_for_a_login() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="forge"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def silent_host() -> Iterator[str]:
    """Takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_g04_a_rewritten_address_reaches_no_transport_helper(
    opened: Open, git_config: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    helper = f"ext::sh -c touch% {made} #"
    run_git("config", "--file", str(git_config), f"url.{helper}.insteadOf", "https://forge.test/")
    with pytest.raises(RepositoryUnreadable, match="ways to reach a repository are allowed"):
        opened("https://forge.test/thing").tip()
    assert not made.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder away takes root")
def test_g06_a_folder_of_another_user_is_refused_by_name_and_the_configuration_left_alone(
    opened: Open, source: GitRepo, git_config: Path
) -> None:
    source.commit({"a.md": "x"})
    for path in (source.path, *source.path.rglob("*")):
        os.chown(path, 12345, 12345)
    with pytest.raises(RepositoryUnreadable) as caught:
        opened(source.path).tip()
    assert f"safe.directory '{source.path}/.git'" in str(caught.value)
    assert git_config.read_text() == ""


def test_g09_a_branch_that_was_reset_to_a_newer_commit_is_seen_as_moved(
    opened: Open, source: GitRepo, tmp_path: Path
) -> None:
    source.commit({"a.md": "1"})
    clone = tmp_path / "clone"
    run_git("clone", "-q", str(source.path), str(clone))
    repository = opened(clone)
    assert read(repository) == {"a.md": b"1"}
    newer = source.commit({"a.md": "2"})
    run_git("-C", str(clone), "fetch", "-q")
    run_git("-C", str(clone), "reset", "-q", "--hard", "origin/main")
    assert repository.tip() == newer
    assert read(repository) == {"a.md": b"2"}


@pytest.mark.parametrize("address", ["{}", "file://{}"])
def test_g11_a_shallow_clone_is_read_and_so_is_what_it_gains_later(
    opened: Open, source: GitRepo, tmp_path: Path, address: str
) -> None:
    made = [source.commit({"a.md": str(number)}) for number in range(3)]
    shallow = tmp_path / "shallow"
    run_git("clone", "-q", "--depth=1", f"file://{source.path}", str(shallow))
    repository = opened(address.format(shallow))
    assert read(repository) == {"a.md": b"2"}
    assert repository.commit_ids([made[2]], []) == [made[2]]
    made.append(source.commit({"a.md": "3"}))
    run_git("-C", str(shallow), "fetch", "-q", "--depth=1")
    run_git("-C", str(shallow), "reset", "-q", "--hard", "origin/main")
    assert read(repository) == {"a.md": b"3"}
    run_git("-C", str(shallow), "fetch", "-q", "--unshallow")
    assert read(opened(address.format(shallow))) == {"a.md": b"3"}
    assert repository.commit_ids([made[3]], []) == made


def test_g11_a_root_commit_is_read_from_its_tree(opened: Open, source: GitRepo) -> None:
    tip = source.commit({"a.md": "only"})
    repository = opened(source.path)
    assert read(repository) == {"a.md": b"only"}
    assert [message.parents for message in repository.commit_messages([tip])] == [0]


def test_g13_a_renamed_file_leaves_nothing_under_its_old_path(
    opened: Open, source: GitRepo
) -> None:
    source.commit({"a.py": "pure", "c.py": "edited"})
    source.commit({"a.py": None, "b.py": "pure", "c.py": None, "d.py": "edited more"})
    assert read(opened(source.path)) == {"b.py": b"pure", "d.py": b"edited more"}


def test_g16_links_stand_for_themselves_and_lead_nowhere(opened: Open, source: GitRepo) -> None:
    links = {"out": Link("/etc/passwd"), "loop": Link("loop"), "twin": Link("a.md")}
    tip = source.commit({"a.md": "x", **links})
    repository = opened(source.path)
    assert read(repository) == {"a.md": b"x"}
    entries = {entry.path: entry for entry in repository.tree(tip).entries}
    assert [entries[name].mode for name in links] == ["120000"] * 3
    targets = [content for _, content in repository.blobs([entries[name].blob for name in links])]
    assert targets == [b"/etc/passwd", b"loop", b"a.md"]


def test_g17_a_submodule_that_is_not_there_stops_nothing(opened: Open, source: GitRepo) -> None:
    tip = source.commit({"a.md": "x", "lib": Submodule("1234567890" * 4)})
    repository = opened(source.path)
    assert read(repository) == {"a.md": b"x"}
    assert repository.tree(tip).entries[1].size is None


def test_g22_paths_that_differ_only_in_case_are_two(opened: Open, source: GitRepo) -> None:
    source.commit({"README.md": "loud", "readme.md": "quiet"})
    assert read(opened(source.path)) == {"README.md": b"loud", "readme.md": b"quiet"}


def test_g25_a_login_that_is_asked_for_ends_at_once_without_a_prompt(
    opened: Open, http_asking_for_a_login: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = tmp_path / "asked"
    askpass = tmp_path / "askpass"
    askpass.write_text(f"#!/bin/sh\ntouch {asked}\necho secret\n")
    askpass.chmod(0o700)
    monkeypatch.setenv("SSH_ASKPASS", str(askpass))
    monkeypatch.setenv("GIT_ASKPASS", str(askpass))
    with pytest.raises(RepositoryUnreadable, match="asks for a login"):
        opened(f"http://{http_asking_for_a_login}/thing.git").tip()
    assert not asked.exists()


def test_g25_no_credential_of_a_rewritten_address_reaches_the_message(
    opened: Open, http_asking_for_a_login: str, git_config: Path
) -> None:
    rewritten = f"url.http://hunter2@{http_asking_for_a_login}/.insteadOf"
    run_git("config", "--file", str(git_config), rewritten, "https://forge.test/")
    with pytest.raises(RepositoryUnreadable, match="asks for a login") as caught:
        opened("https://forge.test/thing").tip()
    told = [caught.value, caught.value.__cause__, caught.value.__context__]
    assert "hunter2" not in repr([(repr(error), str(error)) for error in told])


def test_g25_a_host_that_never_answers_is_given_up_with_all_its_helpers(
    opened: Open, silent_host: str
) -> None:
    servers = children()  # those of the test session
    for address in (f"http://{silent_host}/thing", f"git://{silent_host}/thing"):
        with pytest.raises(RepositoryBusy, match="within 1 seconds"):
            opened(address, seconds=1).tip()
    assert children() <= servers


def test_g25_an_ssh_that_hangs_is_ended_too(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\ntrap '' HUP PIPE\nsleep 300 & wait\n")
    ssh.chmod(0o700)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    with pytest.raises(RepositoryBusy, match="within 2 seconds"):
        opened("git@forge.test:thing.git", seconds=2).tip()
    group = int((tmp_path / "pid").read_text())
    left = [process for process in psutil.process_iter() if _belongs_to(process, group)]
    assert left == []


def _belongs_to(process: psutil.Process, pid: int) -> bool:
    try:
        own = process.pid == pid or process.ppid() == pid
        return own and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_g25_ssh_is_told_never_to_ask_and_the_users_own_command_is_kept(
    opened: Open, git_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "own-ssh"
    ssh.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/arguments\nexit 255\n')
    ssh.chmod(0o700)
    run_git("config", "--file", str(git_config), "core.sshCommand", f"{ssh} -v")
    with pytest.raises(RepositoryUnreadable):
        opened("git@forge.test:thing.git").tip()
    assert (tmp_path / "arguments").read_text().startswith("-v\n-o\nBatchMode=yes\n")
    monkeypatch.setenv("GIT_SSH_COMMAND", f"{ssh} -4")
    with pytest.raises(RepositoryUnreadable):
        opened("ssh://forge.test/thing.git").tip()
    assert (tmp_path / "arguments").read_text().startswith("-4\n-o\nBatchMode=yes\n")


def test_g26_fifty_repositories_in_one_process_leave_no_process_and_no_handle(
    source: GitRepo, tmp_path: Path
) -> None:
    source.commit({f"{number}.md": str(number) for number in range(200)})
    this = psutil.Process()
    servers, before = children(), this.num_fds()
    for number in range(50):
        settings = RepositorySettings(name=f"thing-{number}", url=str(source.path))
        with closing(GitRepository(settings, tmp_path / "mirrors", ForgeSettings())) as repository:
            tip = repository.tip()
            assert tip is not None
            repository.fetch()
            blobs = [entry.blob for entry in repository.tree(tip).entries]
            reading = [repository.blobs(blobs), repository.commit_messages([tip])]
            for iterator in reading:
                next(iterator)  # left in the middle, as a failing run does
            assert len(children() - servers) == 2
        assert children() <= servers
        assert this.num_fds() < before + 20, "other threads of the session come and go; 50 do not"
        with pytest.raises(RepositoryBusy, match="closed while being read"):
            next(reading[0])


def test_g27_a_head_that_dangles_is_an_error_and_the_new_default_is_followed(
    opened: Open, tmp_path: Path
) -> None:
    remote = GitRepo(tmp_path / "remote", bare=True, branch="master")
    remote.commit({"a.md": "1"})
    repository = opened(remote.path)
    assert read(repository) == {"a.md": b"1"}
    remote.git("branch", "-m", "master", "main")
    remote.git("symbolic-ref", "HEAD", "refs/heads/master")
    newer = remote.commit({"a.md": "2"}, branch="main")
    with pytest.raises(RepositoryUnreadable, match=r"thing: .*Set branch .*there are: main"):
        repository.tip()
    with pytest.raises(RepositoryUnreadable):
        opened(remote.path).fetch()
    assert opened(remote.path, branch="main").tip() == newer
    remote.git("symbolic-ref", "HEAD", "refs/heads/main")
    assert repository.tip() == newer
    assert read(repository) == {"a.md": b"2"}


def test_g27_a_remote_with_tags_but_no_branch_is_not_an_empty_one(
    opened: Open, source: GitRepo
) -> None:
    source.commit({"a.md": "1"})
    source.git("tag", "v1")
    source.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(RepositoryUnreadable, match="Set branch"):
        opened(source.path).tip()


def test_g31_the_locale_changes_nothing(source: GitRepo, tmp_path: Path) -> None:
    source.commit({"žluťoučký.txt": "kůň"}, message="Přidat koně", author="Žofie")
    program = """
import json, sys
from pathlib import Path
from search.listing import RepositorySettings
from search.settings import ForgeSettings
from tasks.adapters.repositories import GitRepository
settings = RepositorySettings(name="thing", url=sys.argv[1])
repository = GitRepository(settings, Path(sys.argv[2]), ForgeSettings())
tip = repository.tip()
repository.fetch()
(entry,) = repository.tree(tip).entries
(message,) = repository.commit_messages([tip])
print(json.dumps([entry.path, message.author, message.message]))
repository.close()
"""
    root = Path(__file__).parents[2]
    told = []
    for locale in ("C", "C.UTF-8"):
        environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0"}
        told.append(
            subprocess.run(
                [sys.executable, "-c", program, str(source.path), str(tmp_path / locale)],
                capture_output=True,
                check=True,
                env={**environment, "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": str(root)},
            ).stdout
        )
    assert json.loads(told[0]) == ["žluťoučký.txt", "Žofie", "Přidat koně"]
    assert told[0] == told[1]


def test_a_pruned_commit_is_unknown_once_the_mirror_has_lost_it(
    opened: Open, source: GitRepo, tmp_path: Path
) -> None:
    source.commit({"a.md": "1"})
    lost = source.commit({"b.md": "1"})
    repository = opened(source.path)
    repository.fetch()
    kept = source.amend({"b.md": None})
    source.prune()
    repository.tip()
    repository.fetch()
    assert len(repository.tree(lost).entries) == 2
    (mirror,) = (tmp_path / "mirrors").glob("*.git")
    run_git("-C", str(mirror), "gc", "-q", "--prune=now")
    with pytest.raises(UnknownCommit):
        repository.tree(lost)
    with pytest.raises(UnknownCommit):
        repository.commit_ids([kept], [lost])
    assert len(repository.tree(kept).entries) == 1


@pytest.mark.parametrize(
    "commit", ["HEAD", "main", "--all", "", "a" * 39, "a" * 40, "a" * 40 + "\n"]
)
def test_what_is_no_commit_of_the_mirror_is_unknown(
    opened: Open, source: GitRepo, commit: str
) -> None:
    tip = source.commit({"a.md": "1"})
    repository = opened(source.path)
    repository.fetch()
    with pytest.raises(UnknownCommit):
        repository.tree(commit)
    with pytest.raises(UnknownCommit):
        repository.commit_ids([tip], [commit])
    with pytest.raises(UnknownCommit):
        list(repository.commit_messages([commit]))


def test_a_work_tree_a_detached_head_and_a_branch_are_each_followed(
    opened: Open, source: GitRepo, tmp_path: Path
) -> None:
    source.commit({"a.md": "main"})
    linked = tmp_path / "linked"
    source.git("worktree", "add", "-q", "-b", "side", str(linked))
    source.commit({"a.md": "side"}, branch="side")
    assert read(opened(linked)) == {"a.md": b"side"}
    assert read(opened(source.path)) == {"a.md": b"main"}
    assert read(opened(source.path, branch="side")) == {"a.md": b"side"}
    loose = source.commit({"a.md": "loose"}, branch="loose")
    source.git("update-ref", "--no-deref", "HEAD", loose)
    source.git("update-ref", "-d", "refs/heads/loose")
    assert read(opened(source.path)) == {"a.md": b"loose"}
    with pytest.raises(RepositoryUnreadable, match=r"no branch 'gone'.*there are: main, side"):
        opened(source.path, branch="gone").tip()


def test_a_folder_below_the_top_of_a_repository_is_refused(opened: Open, source: GitRepo) -> None:
    source.commit({"docs/a.md": "1"})
    (source.path / "docs").mkdir()
    with pytest.raises(RepositoryUnreadable, match="must be the top of the repository"):
        opened(source.path / "docs").tip()


def test_the_environment_of_a_hook_does_not_turn_us_to_its_repository(
    opened: Open, source: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.commit({"a.md": "right"})
    other = GitRepo(tmp_path / "other")
    other.commit({"a.md": "wrong"})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
    assert default_repository(source.path).name == "source"
    assert read(opened(source.path)) == {"a.md": b"right"}


def test_the_repository_one_stands_in_is_named_by_its_origin_else_by_its_folder(
    source: GitRepo, tmp_path: Path
) -> None:
    inside = source.path / "docs"
    inside.mkdir()
    standing = default_repository(inside)
    assert (standing.name, standing.url) == ("source", str(source.path))
    assert identity(standing) == str(source.path)
    source.git("remote", "add", "origin", "https://ada:hunter2@forge.test/group/thing.git")
    assert default_repository(inside).name == "thing"
    assert identity(standing) == "https://forge.test/group/thing.git"
    bare = GitRepo(tmp_path / "čaj.git", bare=True)
    assert (default_repository(bare.path).name, default_repository(bare.path).url) == (
        "aj",
        str(bare.path),
    )
    with pytest.raises(UsageError, match=r"in no git repository.*huginn sources add"):
        default_repository(tmp_path)


def test_a_folder_within_another_repository_is_not_known_by_that_ones_origin(
    source: GitRepo,
) -> None:
    source.git("remote", "add", "origin", "https://forge.test/outer.git")
    inside = source.path / "docs"
    inside.mkdir()
    assert identity(RepositorySettings(name="docs", url=str(inside))) == str(inside)
    remote = RepositorySettings(name="x", url="ssh://git@forge.test/x.git")
    assert identity(remote) == "ssh://forge.test/x.git"


def test_attributes_count_at_every_depth_and_only_from_the_commit_itself(
    opened: Open, source: GitRepo, git_config: Path, tmp_path: Path
) -> None:
    (tmp_path / "attributes").write_text("*.md linguist-generated\n")
    own = str(tmp_path / "attributes")
    run_git("config", "--file", str(git_config), "core.attributesFile", own)
    (source.path / ".git" / "info").mkdir(exist_ok=True)
    (source.path / ".git" / "info" / "attributes").write_text("*.md linguist-generated\n")
    earlier = source.commit({".gitattributes": "*.lock linguist-generated=true\n", "a.lock": "1"})
    deep = "hand.py -linguist-generated\n*.py linguist-vendored linguist-generated\n"
    tip = source.commit(
        {
            ".gitattributes": "gen/** linguist-generated\n/lib linguist-vendored\n",
            "gen/keep/.gitattributes": "hand.py linguist-generated=false\n",
            "third/.gitattributes": deep,
            "gen/a b\n.py": "1",
            "gen/keep/hand.py": "1",
            "gen/keep/žluť.py": "1",
            "third/x.py": "1",
            "a.md": "1",
        }
    )
    repository = opened(source.path)
    repository.fetch()
    tree = repository.tree(tip)
    marks = {"gen/keep/.gitattributes"}
    assert tree.generated == {"gen/a b\n.py", "gen/keep/žluť.py", "third/x.py"} | marks
    assert tree.vendored == {"third/x.py"}
    assert tree.not_generated == {"gen/keep/hand.py"}
    assert tree.not_vendored == set()
    assert repository.tree(earlier).generated == {"a.lock"}


def test_attributes_of_fifty_thousand_paths_are_read(opened: Open, source: GitRepo) -> None:
    names = [f"{number % 100}/{number}.py" for number in range(50_000)]
    blob = source.git("hash-object", "-w", "--stdin", stdin=b"x").strip()
    rows = "".join(f"100644 {blob}\t{name}\0" for name in names)
    marks = source.git("hash-object", "-w", "--stdin", stdin=b"7/** linguist-generated\n").strip()
    rows += f"100644 {marks}\t.gitattributes\0"
    source.git("update-index", "-z", "--index-info", stdin=rows.encode())
    tree = source.git("write-tree").strip()
    tip = source.commit(base=tree)
    repository = opened(source.path)
    repository.fetch()
    read_tree = repository.tree(tip)
    assert len(read_tree.entries) == 50_001
    assert read_tree.generated == {name for name in names if name.startswith("7/")}


def test_names_that_no_work_tree_could_hold_do_not_stop_the_rest(
    opened: Open, source: GitRepo
) -> None:
    def write(kind: str, raw: bytes) -> bytes:
        command = ("hash-object", "-w", "--stdin", "--literally", "-t", kind)
        return bytes.fromhex(source.git(*command, stdin=raw).strip())

    marks = write("blob", b"* linguist-generated\n")
    inner = write("tree", b"100644 .gitattributes\0" + marks)
    rows = [b"100644 ..\0", b"40000 .git\0", b"100644 .gitattributes\0", b"100644 a.md\0"]
    blobs = [marks, inner, marks, marks]
    tree = write("tree", b"".join(a + b for a, b in zip(rows, blobs, strict=True)))
    source.commit({"z.md": "1"})
    who = b"Ada <ada@example.org> 1700000000 +0000"
    raw = b"tree " + tree.hex().encode() + b"\nauthor " + who + b"\ncommitter " + who + b"\n\nOdd\n"
    tip = write("commit", raw).hex()
    source.reset(tip)
    repository = opened(source.path)
    repository.fetch()
    paths = [entry.path for entry in repository.tree(tip).entries]
    assert paths == ["..", ".git/.gitattributes", ".gitattributes", "a.md"]
    assert repository.tree(tip).generated == {".gitattributes", "a.md"}


def test_messages_in_an_odd_encoding_and_with_an_odd_date_are_read(
    opened: Open, source: GitRepo
) -> None:
    latin = "Kůň přes řeku".encode("iso-8859-2")
    made = [
        source.commit(message=latin, encoding="ISO-8859-2", when="1700000000 +1245"),
        source.commit(message=b"caf\xe9", when="99999999999999 -0500"),
        source.commit(message=b"NUL \x00 inside", when="0 -0000"),
    ]
    repository = opened(source.path)
    repository.fetch()
    told = list(repository.commit_messages(made))
    assert [message.message for message in told] == [
        "Kůň přes řeku",
        "caf\N{REPLACEMENT CHARACTER}",
        "NUL \x00 inside",
    ]
    assert [message.authored_at.isoformat() for message in told] == [
        "2023-11-14T22:13:20+00:00",
        "9999-12-31T23:59:59+00:00",
        "1970-01-01T00:00:00+00:00",
    ]
    assert repository.commit_ids([made[2]], []) == made
