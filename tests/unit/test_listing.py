"""Which repositories may be listed (spec 1.5, 5.1)."""

import os
import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from search.errors import SettingsError
from search.listing import RepositorySettings, checked_address, is_local
from search.settings import load_settings


@pytest.mark.parametrize(
    "address",
    [
        "https://forge.test/group/thing.git",
        "http://127.0.0.1:3000/thing",
        "https://[::1]:8080/thing",
        "https://forge.test/@user/thing",
        "ssh://git@forge.test:2222/thing.git",
        "git@forge.test:group/thing.git",
        "forge.test:thing",
        "git://forge.test/thing",
        "file:///srv/git/thing.git",
        "file:///srv/git/no#1",
    ],
)
def test_the_usual_addresses_stay_as_they_are(address: str) -> None:
    assert checked_address(address) == address
    assert is_local(address) == address.startswith("file")


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("ext::sh -c touch% /nowhere", "transport helpers"),
        ("  ext::sh", "transport helpers"),
        ("\N{NO-BREAK SPACE}ext::sh", "transport helpers"),
        ("fd::17", "transport helpers"),
        ("::sh", "transport helpers"),
        ("ext://sh", "ext:// is not one of"),
        ("ftp://forge.test/thing", "ftp:// is not one of"),
        ("--upload-pack=touch", "dash"),
        (" -x", "dash"),
        ("ssh://-oProxyCommand=touch/thing", "dash"),
        ("ssh://-oProxyCommand=touch@forge.test/thing", "dash"),
        ("ssh://%2DoProxyCommand=touch/thing", "plain host"),
        ("https://forge.test\n/thing", "control character"),
        ("https://forge.test/thing\x00", "control character"),
        ("https://forge.test/thing\x85", "control character"),
        ("", "must be a URL or a folder"),
        ("   ", "must be a URL or a folder"),
        ("https:///thing", "names no host"),
        ("https://[::1/thing", "IPv6"),
        ("https://fo rge/thing", "plain host"),
        ("~nobody-by-this-name/thing", "home"),
    ],
)
def test_what_could_run_a_program_or_is_no_address_is_refused(address: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        checked_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "https://hunter2@forge.test/thing",
        "https://ada:hunter2@forge.test/thing",
        "https://ada:hun/ter2@forge.test/thing",
        "HTTPS://hunter2@forge.test/thing",
        "ssh://git:hunter2@forge.test/thing",
        "git://ada:hunter2@forge.test/thing",
        "ada:hunter2@forge.test:thing",
        "https://forge.test/thing?private_token=hunter2",
        "https://forge.test/thing#hunter2",
    ],
)
def test_a_credential_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ValueError, match=r"token|login") as caught:
        checked_address(address)
    assert "ter2" not in str(caught.value)


def test_a_scheme_in_capitals_is_written_as_git_knows_it() -> None:
    assert checked_address("HTTPS://forge.test/Thing") == "https://forge.test/Thing"
    assert is_local(checked_address("FILE:///srv/thing"))


def test_a_folder_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert checked_address(".") == str(tmp_path)
    assert checked_address("./ext::sh") == str(tmp_path / "ext::sh")
    assert checked_address("~/thing") == str(tmp_path / "home" / "thing")
    assert is_local(checked_address("thing"))


def test_a_folder_in_the_file_is_seen_from_the_files_own_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "etc" / "huginn.toml"
    config.parent.mkdir()
    urls = ["../notes", ".", "~/thing", "/srv/thing", "git@forge.test:thing.git"]
    rows = [f'[[repositories]]\nname = "r{n}"\nurl = "{url}"\n' for n, url in enumerate(urls)]
    config.write_text("\n".join(rows))
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.chdir("/")
    assert [each.url for each in load_settings(config).repositories] == [
        str(tmp_path / "notes"),
        str(config.parent),
        "/home/ada/thing",
        "/srv/thing",
        "git@forge.test:thing.git",
    ]


BRANCHES = ["main", "fix/1-a_b.c+d", "fix#1", "größe", "a@b", "@x", "x.locked"]
NO_BRANCHES = [
    *("--upload-pack=touch", "-x", "", "a b", "a..b", "a:b", "a~1", "a^", "a*", "a?", "a[b"),
    *("a\\b", "/a", "a/", "a//b", ".a", "a/.b", "a.", "a.lock", "a.lock/b", "a@{1}"),
    *("a\n", "a\x7f"),
]


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_branch_may_have_any_name_that_git_takes(branch: str) -> None:
    assert _git_takes(branch)
    assert RepositorySettings(name="thing", url="/srv/thing", branch=branch).branch == branch


@pytest.mark.parametrize("branch", NO_BRANCHES)
def test_a_branch_that_git_would_not_take_or_could_take_for_more_is_refused(branch: str) -> None:
    assert not _git_takes(branch)
    with pytest.raises(ValidationError, match="is no branch name"):
        RepositorySettings(name="thing", url="/srv/thing", branch=branch)


def _git_takes(branch: str) -> bool:
    command = ["git", "check-ref-format", "--branch", branch]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", ["", "-x", ".x", "/x", "a b", "a:b", "x\n", "é", "x" * 101])
def test_a_name_that_cannot_be_part_of_a_source_id_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        RepositorySettings(name=name, url="/srv/thing")


def test_a_name_is_the_source_id() -> None:
    assert RepositorySettings(name="group/thing", url="/srv/thing").source == "repo:group/thing"


def test_g04_an_address_that_runs_a_program_is_refused_at_settings_load(tmp_path: Path) -> None:
    made = tmp_path / "made"
    config = tmp_path / "huginn.toml"
    config.write_text(f'[[repositories]]\nname = "thing"\nurl = "ext::sh -c touch% {made}"\n')
    with pytest.raises(SettingsError, match="transport helpers") as caught:
        load_settings(config)
    assert caught.value.field == "repositories.0.url"
    assert not os.path.lexists(made)


@pytest.mark.parametrize(
    "repository", ['url = "/srv/a"\nunknown = 1', 'url = "/srv/a"\nlabel = "' + "x" * 101 + '"']
)
def test_an_unknown_or_overlong_setting_of_a_repository_is_named(
    tmp_path: Path, repository: str
) -> None:
    config = tmp_path / "huginn.toml"
    config.write_text(f'[[repositories]]\nname = "thing"\n{repository}\n')
    with pytest.raises(SettingsError, match=r"repositories\.0\.(unknown|label)"):
        load_settings(config)


@pytest.mark.parametrize("name", ["a/../b", "a/./b", "a/..", "a//b", "a/"])
def test_a_name_with_a_part_that_leads_up_or_nowhere_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="empty or only dots"):
        RepositorySettings(name=name, url="/srv/one")


@pytest.mark.parametrize("name", ["a.b", "a/b.c", "a/.b", "3.0"])
def test_dots_in_a_name_are_fine(name: str) -> None:
    assert RepositorySettings(name=name, url="/srv/one").name == name
