"""``huginn sources add|remove`` edit the settings file and nothing else (spec 1.5)."""

import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from flows.cli import main
from search.settings import CONFIG_VARIABLE, load_settings
from tests.support.git_repos import GitRepo

FILE = """\
# Everything about this file is somebody's own.
data_dir = "/d"   # a place

[forge]
commit_messages = true # why

# the first
[[repositories]]
name = "one" # its name
url = "/srv/one"

# the second
[[repositories]]
name = "two"
url = "/srv/two"

# the third
[[repositories]]
name = "three"
url = "/srv/three"

# the end
[weaviate]
collection = "Other"
"""
INLINE = """\
repositories = [
    {name = "one", url = "/srv/one"}, # the first
    {name = "two", url = "/srv/two"},
]
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv(CONFIG_VARIABLE, "")
    return folder


@pytest.fixture
def file(here: Path) -> Path:
    path = here / "huginn.toml"
    path.write_text(FILE)
    return path


def sources(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["sources", *arguments])


def done(*arguments: str) -> str:
    result = sources(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def names(path: Path) -> list[str]:
    return [each.name for each in load_settings(path).repositories]


def without_entries(path: Path) -> dict[str, Any]:
    return {k: v for k, v in tomllib.loads(path.read_text()).items() if k != "repositories"}


def test_adding_keeps_every_line_that_was_there_in_its_order(file: Path) -> None:
    done("add", "four", "https://git.example.org/four.git", "--label", "The fourth")
    left = iter(file.read_text().splitlines())
    assert all(line in left for line in FILE.splitlines())
    assert names(file) == ["one", "two", "three", "four"]
    assert without_entries(file) == {
        "data_dir": "/d",
        "forge": {"commit_messages": True},
        "weaviate": {"collection": "Other"},
    }


def test_adding_stores_all_that_was_said(file: Path) -> None:
    options = ["--branch", "main", "--label", "Four", "--include", "docs/**", "--include", "*.md"]
    done("add", "four", "git@git.example.org:four.git", *options, "--exclude", "docs/old/**")
    added = load_settings(file).repositories[-1]
    assert (added.url, added.branch) == ("git@git.example.org:four.git", "main")
    assert (added.include, added.exclude) == (("docs/**", "*.md"), ("docs/old/**",))
    assert added.label == "Four"


def test_adding_makes_the_file_where_there_is_none(here: Path) -> None:
    told = done("add", "one", "/srv/one")
    assert str(here / "huginn.toml") in told
    assert names(here / "huginn.toml") == ["one"]


def test_adding_goes_into_the_file_that_is_named(here: Path, file: Path) -> None:
    other = here / "other.toml"
    other.write_text("")
    done("add", "four", "/srv/four", "--config", str(other))
    assert names(other) == ["four"]
    assert file.read_text() == FILE


def test_a_folder_is_stored_so_that_it_means_the_same_from_everywhere(
    here: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done("add", "four", "../four")
    monkeypatch.chdir("/")
    assert load_settings(file).repositories[-1].url == str(here.parent / "four")


@pytest.mark.parametrize("name", ["one", "two", "three"])
def test_removing_takes_the_entry_with_its_comment_and_no_other_line(file: Path, name: str) -> None:
    done("remove", name)
    gone = {"one": "# the first", "two": "# the second", "three": "# the third"}[name]
    lines = FILE.splitlines()
    start = lines.index(gone)
    kept = lines[:start] + lines[lines.index("", start) + 1 :]
    left = [line for line in file.read_text().splitlines() if line]
    assert left == [line for line in kept if line]


def test_removing_takes_a_source_id_too(file: Path) -> None:
    done("remove", "repo:two")
    assert names(file) == ["one", "three"]


def test_removing_the_last_one_leaves_a_list_that_is_empty(file: Path) -> None:
    for name in ("one", "two", "three"):
        done("remove", name)
    settings = load_settings(file)
    assert (settings.repositories, settings.has_list) == ((), True)
    assert without_entries(file).keys() == {"data_dir", "forge", "weaviate"}
    done("add", "four", "/srv/four")
    assert names(file) == ["four"]


def test_removing_the_only_one_keeps_every_other_line(here: Path) -> None:
    path = here / "huginn.toml"
    entry = '# the first\n[[repositories]]\nname = "one"\nurl = "/srv/one"\n\n'
    head, tail = "# mine\n[forge]\n# why\n\n", '# the end\n[weaviate]\ncollection = "X" # X\n'
    path.write_text(head + entry + tail)
    done("remove", "one")
    left = iter(path.read_text().splitlines())
    assert load_settings(path).repositories == ()
    assert all(line in left for line in (head + tail).splitlines())
    assert "# the first" not in path.read_text()


def test_a_list_in_one_line_can_be_edited_as_well(here: Path) -> None:
    path = here / "huginn.toml"
    path.write_text(INLINE)
    done("add", "three", "/srv/three")
    assert names(path) == ["one", "two", "three"]
    assert "# the first" in path.read_text()
    done("remove", "two")
    assert names(path) == ["one", "three"]


REFUSED = [
    pytest.param(["add", "one", "/srv/other"], "listed twice", id="name-taken"),
    pytest.param(["add", "ONE", "/srv/other"], "listed twice", id="name-taken-in-capitals"),
    pytest.param(["add", "a b", "/srv/other"], "name", id="bad-name"),
    pytest.param(["add", "four", "ext::sh -c true"], "ext::", id="transport-helper"),
    pytest.param(["add", "four", " -oProxyCommand=x"], "dash", id="option"),
    pytest.param(["add", "four", ""], "address", id="no-address"),
    pytest.param(["add", "four", "https://user:word@git.example.org/a"], "token", id="token"),
    pytest.param(["add", "four", "/srv/four", "--branch=-x"], "branch", id="bad-branch"),
    pytest.param(["add", "four", "/srv/four", "--label", "x" * 101], "label", id="long-label"),
    pytest.param(["remove", "four"], "Listed: one, two, three", id="not-listed"),
]


@pytest.mark.parametrize(("arguments", "told"), REFUSED)
def test_a_refused_change_leaves_the_file_byte_for_byte_and_nothing_beside_it(
    here: Path, file: Path, arguments: list[str], told: str
) -> None:
    result = sources(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr
    assert "word" not in result.stderr
    assert ".huginn-" not in result.stderr
    assert file.read_bytes() == FILE.encode()
    assert [path.name for path in here.iterdir()] == ["huginn.toml"]


@pytest.mark.parametrize(
    "content",
    [
        b"data_dir = ",
        b'label = "caf\xe9"',
        b'repositories = "x"\n',
        b"repositories = [1]\n",
        b'[repositories]\nname = "one"\n',
        b'colour = "red"\n',
    ],
    ids=["cut", "latin-1", "string", "numbers", "table", "unknown-setting"],
)
@pytest.mark.parametrize("arguments", [["add", "four", "/srv/four"], ["remove", "four"]])
def test_a_file_that_is_off_already_is_refused_as_it_is(
    here: Path, content: bytes, arguments: list[str]
) -> None:
    path = here / "huginn.toml"
    path.write_bytes(content)
    result = sources(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert path.read_bytes() == content


def test_removing_without_a_file_is_refused_and_makes_none(here: Path) -> None:
    assert sources("remove", "one").exit_code == 2
    assert list(here.iterdir()) == []


def test_the_files_rights_stay_as_they_were(file: Path) -> None:
    file.chmod(0o640)
    done("add", "four", "/srv/four")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_link_to_the_file_stays_a_link(here: Path, file: Path) -> None:
    (here / "kept").mkdir()
    real = here / "kept" / "huginn.toml"
    file.rename(real)
    file.symlink_to(real)
    done("add", "four", "/srv/four")
    assert file.is_symlink()
    assert names(real)[-1] == "four"


def test_line_ends_of_windows_stay(file: Path) -> None:
    file.write_bytes(FILE.replace("\n", "\r\n").encode())
    done("remove", "two")
    assert names(file) == ["one", "three"]
    lines = file.read_bytes().split(b"\n")
    assert all(line.endswith(b"\r") for line in lines[:-1])


def test_the_first_addition_lists_the_repository_you_stand_in_too(here: Path) -> None:
    """It was the source so far; a list without it would have the next refresh remove it."""
    GitRepo(here)
    result = CliRunner().invoke(main, ["sources", "add", "other", "/srv/other"])
    assert result.exit_code == 0, result.output
    assert "repo:here" in result.output
    assert [each.name for each in load_settings().repositories] == ["here", "other"]
    CliRunner().invoke(main, ["sources", "add", "third", "/srv/third"])
    assert [each.name for each in load_settings().repositories] == ["here", "other", "third"]
