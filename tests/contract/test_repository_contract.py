"""What every ``Repository`` does: one suite over the fake and over real git (spec 5.4, 2.7)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from search.listing import RepositorySettings
from search.settings import ForgeSettings
from tasks.adapters.repositories import GitRepository
from tasks.errors import RepositoryUnreadable, UnknownCommit
from tasks.ports import Repository
from tests.support.fake_repository import FakeRepository, FakeSource
from tests.support.git_repos import FIRST_SECOND, ISOLATED, GitRepo, Link, Submodule

Source = GitRepo | FakeSource


@pytest.fixture(params=["fake", "git", "bare git"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in ISOLATED.items():
        monkeypatch.setenv(name, value)
    return str(request.param)


@pytest.fixture
def source(kind: str, tmp_path: Path) -> Source:
    return FakeSource() if kind == "fake" else GitRepo(tmp_path / "source", bare="bare" in kind)


@pytest.fixture
def repository(source: Source, tmp_path: Path) -> Iterator[Repository]:
    opened: Repository
    if isinstance(source, FakeSource):
        opened = FakeRepository(source)
    else:
        settings = RepositorySettings(name="thing", url=str(source.path))
        opened = GitRepository(settings, tmp_path / "mirrors", ForgeSettings())
    yield opened
    opened.close()


def paths(repository: Repository, commit: str) -> list[str]:
    return [entry.path for entry in repository.tree(commit).entries]


def test_a_repository_without_commits_has_no_tip_until_the_first_one(
    source: Source, repository: Repository
) -> None:
    assert repository.tip() is None
    repository.fetch()
    first = source.commit({"a.md": "one"})
    assert repository.tip() == first
    repository.fetch()
    assert paths(repository, first) == ["a.md"]


def test_a_commit_is_unknown_until_it_is_fetched(source: Source, repository: Repository) -> None:
    first = source.commit({"a.md": "one"})
    with pytest.raises(UnknownCommit):
        repository.tree(first)
    repository.tip()
    repository.fetch()
    second = source.commit({"b.md": "two"})
    with pytest.raises(UnknownCommit):
        repository.tree(second)
    with pytest.raises(UnknownCommit):
        repository.commit_ids([second], [])
    with pytest.raises(UnknownCommit):
        repository.commit_ids([first], [second])
    with pytest.raises(UnknownCommit):
        list(repository.commit_messages([second]))
    assert paths(repository, first) == ["a.md"]


def test_a_fetch_for_a_commit_that_is_held_leaves_the_rest_of_the_remote_alone(
    source: Source, repository: Repository
) -> None:
    first = source.commit({"a.md": "one"})
    repository.fetch(first)
    second = source.commit({"b.md": "two"})
    repository.fetch(first)
    with pytest.raises(UnknownCommit):
        repository.tree(second)
    repository.tip()
    repository.fetch(second)
    assert paths(repository, second) == ["a.md", "b.md"]


def test_a_tree_lists_every_kind_of_entry_by_path_with_mode_blob_and_size(
    source: Source, repository: Repository
) -> None:
    pinned = source.commit(
        {"z/b.txt": "hello\n", "z.txt": b"\x00\xff", "Z.txt": "", "žluť.md": "x"}
    )
    tip = source.commit({"link": Link("/etc/passwd"), "lib": Submodule(pinned)})
    repository.fetch()
    tree = repository.tree(tip)
    assert [(entry.path, entry.mode, entry.size) for entry in tree.entries] == [
        ("Z.txt", "100644", 0),
        ("lib", "160000", None),
        ("link", "120000", 11),
        ("z.txt", "100644", 2),
        ("z/b.txt", "100644", 6),
        ("žluť.md", "100644", 1),
    ]
    assert tree.entries[1].blob == pinned
    assert tree.entries[4].blob == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert tree.unreadable_paths == 0


def test_a_name_that_is_not_utf8_is_left_out_and_counted(
    source: Source, repository: Repository
) -> None:
    tip = source.commit({b"caf\xe9.css": "a", b"caf\xc3\xa9.css": "b"})
    repository.fetch()
    assert paths(repository, tip) == ["café.css"]
    assert repository.tree(tip).unreadable_paths == 1


def test_attributes_mark_what_is_generated_and_what_is_vendored(
    source: Source, repository: Repository
) -> None:
    marks = "out.py linguist-generated\nvendor.py linguist-vendored\nown.py -linguist-vendored\n"
    plain = source.commit({"out.py": "a", "vendor.py": "b", "own.py": "c"})
    tip = source.commit({".gitattributes": marks})
    repository.fetch()
    assert repository.tree(tip).generated == {"out.py"}
    assert repository.tree(tip).vendored == {"vendor.py"}
    assert repository.tree(tip).not_vendored == {"own.py"}
    assert repository.tree(tip).not_generated == frozenset()
    assert [
        repository.tree(tip).is_vendored(path) for path in ("vendor.py", "own.py", "out.py")
    ] == [
        True,
        False,
        None,
    ]
    assert repository.tree(plain).generated == frozenset()


def test_blobs_come_in_the_order_asked_and_as_often(source: Source, repository: Repository) -> None:
    tip = source.commit({"a": b"one\n", "b": b"\x00\x80\r\n", "c": b""})
    repository.fetch()
    a, b, c = (entry.blob for entry in repository.tree(tip).entries)
    assert list(repository.blobs([c, a, b, a])) == [
        (c, b""),
        (a, b"one\n"),
        (b, b"\x00\x80\r\n"),
        (a, b"one\n"),
    ]
    assert list(repository.blobs([])) == []


def test_equal_content_has_one_blob_and_another_content_another(
    source: Source, repository: Repository
) -> None:
    before = source.commit({"a": "one", "b": "one", "c": "two"})
    after = source.commit({"c": "three"})
    repository.fetch()
    a, b, c = (entry.blob for entry in repository.tree(before).entries)
    assert a == b != c
    assert [entry.blob for entry in repository.tree(after).entries][:2] == [a, b]
    assert repository.tree(after).entries[2].blob != c


def test_commit_ids_are_what_is_new_oldest_first(source: Source, repository: Repository) -> None:
    made = [source.commit({"a": str(number)}) for number in range(4)]
    repository.fetch()
    assert repository.commit_ids([made[3]], []) == made
    assert repository.commit_ids([made[3]], [made[1]]) == made[2:]
    assert repository.commit_ids([made[3]], [made[3]]) == []
    assert repository.commit_ids([], [made[3]]) == []


def test_a_merge_of_an_old_branch_brings_its_commits(
    source: Source, repository: Repository
) -> None:
    root = source.commit({"a": "1"}, when=f"{FIRST_SECOND} +0000")
    side = source.commit({"old": "1"}, when=f"{FIRST_SECOND + 60} +0000")
    source.reset(root)
    main = source.commit({"b": "1"}, when=f"{FIRST_SECOND + 120} +0000", parents=[root])
    merge = source.commit({"old": "1"}, when=f"{FIRST_SECOND + 180} +0000", parents=[main, side])
    repository.fetch()
    assert repository.commit_ids([merge], [main]) == [side, merge]
    assert repository.commit_ids([merge], []) == [root, side, main, merge]
    assert paths(repository, merge) == ["a", "b", "old"]
    (message,) = repository.commit_messages([merge])
    assert message.parents == 2


def test_messages_tell_author_text_and_time_in_utc(source: Source, repository: Repository) -> None:
    first = source.commit(message="Begin\n\nWith a body: žluť.\n", author="Žofie Růžička")
    second = source.commit(message="Go on", when=f"{FIRST_SECOND} +0545")
    repository.fetch()
    newer, older = repository.commit_messages([second, first])
    assert (newer.sha, older.sha) == (second, first)
    assert older.message == "Begin\n\nWith a body: žluť.\n"
    assert (older.author, newer.author) == ("Žofie Růžička", "Ada Lovelace")
    assert newer.authored_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert newer.authored_at.utcoffset() == timedelta(0)
    assert (older.parents, newer.parents) == (0, 1)


def test_after_a_force_push_the_commit_before_it_can_still_be_compared(
    source: Source, repository: Repository
) -> None:
    source.commit({"a": "1"})
    before = source.commit({"b": "1", "c": "1"})
    repository.fetch()
    after = source.amend({"c": None})
    assert repository.tip() == after
    repository.fetch()
    assert paths(repository, before) == ["a", "b", "c"]
    assert paths(repository, after) == ["a", "b"]
    assert repository.commit_ids([after], [before]) == [after]


def test_an_emptied_repository_has_an_empty_tree(source: Source, repository: Repository) -> None:
    source.commit({"a": "1"})
    tip = source.commit({"a": None})
    repository.fetch()
    assert repository.tree(tip).entries == ()


def test_a_repository_that_is_gone_is_unreadable_and_not_empty(
    source: Source, repository: Repository
) -> None:
    source.commit({"a": "1"})
    if isinstance(source, FakeSource):
        source.unreadable = RepositoryUnreadable("thing: gone. Check its url.")
    else:
        source.path.rename(source.path.with_name("elsewhere"))
    with pytest.raises(RepositoryUnreadable):
        repository.tip()
    with pytest.raises(RepositoryUnreadable):
        repository.fetch()


def test_a_repository_can_be_closed_twice_and_read_again(
    source: Source, repository: Repository
) -> None:
    tip = source.commit({"a": "1"})
    repository.fetch()
    repository.close()
    repository.close()
    assert paths(repository, tip) == ["a"]
