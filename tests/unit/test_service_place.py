"""Which service is asked, and when it is too old: told by names and digests (spec 6.8)."""

import os
import socket
import stat
from pathlib import Path

import platformdirs
import pytest

from search import config_file, service_place
from search.errors import PermanentError, SettingsError
from search.service_place import fingerprint_of, place_of, process_at


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A settings file in force; the runtime folder is short, and the test's own."""
    path = tmp_path / "huginn.toml"
    path.write_text('data_dir = "/srv/huginn"\n')
    (tmp_path / "run").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("HUGINN_CONFIG", str(path))
    monkeypatch.setattr(service_place, "_LONGEST_SOCKET", 1_000)
    return path


def test_the_folder_is_ours_alone_also_when_it_stood_open(tmp_path: Path) -> None:
    place = place_of(None)
    assert place.folder == tmp_path / "run" / "huginn"
    place.folder.chmod(0o755)
    assert stat.S_IMODE(place_of(None).folder.stat().st_mode) == 0o700


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run" / "huginn").symlink_to(tmp_path)
    with pytest.raises(PermanentError, match="belongs to somebody else"):
        place_of(None)


def test_a_folder_too_deep_for_a_socket_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    monkeypatch.setattr(service_place, "_LONGEST_SOCKET", 100)
    place = place_of(None)
    assert not place.folder.is_relative_to(deep)
    assert len(os.fsencode(place.socket)) <= 100


def test_the_same_settings_are_the_same_service_however_they_are_named(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = place_of(None).key
    assert place_of(config).key == key
    monkeypatch.chdir(config.parent)
    monkeypatch.delenv("HUGINN_CONFIG")
    assert place_of(None).key == key
    assert place_of(Path("huginn.toml")).key == key


@pytest.mark.parametrize(
    "variable", ["HUGINN_DATA_DIR", "HUGINN_WEAVIATE__COLLECTION", "XDG_DATA_HOME"]
)
def test_another_setting_in_the_environment_is_another_service(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = place_of(None).key
    monkeypatch.setenv(variable, "/srv/other")
    assert place_of(None).key != key


def test_a_relative_path_is_another_service_in_another_folder(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = set()
    for text in ('data_dir = "/srv/huginn"\n', 'data_dir = "data"\n'):
        config.write_text(text)
        for folder in (tmp_path, tmp_path / "run"):
            monkeypatch.chdir(folder)
            keys.add(place_of(None).key)
    assert len(keys) == 3
    config.write_text("")
    monkeypatch.setenv("HUGINN_CACHE_DIR", "cache")
    here = place_of(None).key
    monkeypatch.chdir(tmp_path)
    assert place_of(None).key != here


def test_what_settings_are_made_from_is_in_the_fingerprint(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(None)
    marks = [fingerprint_of(place)]
    config.write_text('data_dir = "/srv/other"\n')
    marks.append(fingerprint_of(place))
    monkeypatch.setenv("HUGINN_WEAVIATE__READER_KEY", "one")
    marks.append(fingerprint_of(place))
    monkeypatch.setenv("HUGINN_WEAVIATE__READER_KEY", "two")
    marks.append(fingerprint_of(place))
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", "/run/credentials")
    marks.append(fingerprint_of(place))
    assert len(set(marks)) == 5
    assert fingerprint_of(place) == marks[-1]


def test_a_secret_is_in_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    key = place_of(None).key
    monkeypatch.setenv("HUGINN_WEAVIATE__READER_KEY", "hush")
    assert place_of(None).key == key


def test_a_change_of_any_source_file_is_in_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "search"
    code.mkdir()
    (code / "a.py").write_text("one = 1\n")
    monkeypatch.setattr(service_place, "CODE", code)
    place = place_of(None)
    before = fingerprint_of(place)
    (code / "a.py").write_text("one = 11\n")
    longer = fingerprint_of(place)
    os.utime(code / "a.py", (1, 1))
    assert len({before, longer, fingerprint_of(place)}) == 3


def test_a_settings_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is not a file"):
        place_of(tmp_path / "missing.toml")


def test_the_kernel_tells_who_is_at_the_other_end() -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert process_at(one) == (os.getpid(), os.geteuid())


@pytest.mark.parametrize("folder", [None, "", "/srv/config", "config", " /srv/config "])
def test_the_users_configuration_folder_is_the_one_that_platformdirs_tells(
    folder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if folder is None:
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CONFIG_HOME", folder)
    assert config_file.user_config_folder() == platformdirs.user_config_path("huginn")


@pytest.mark.parametrize(
    ("text", "variable", "seconds"),
    [
        pytest.param("", None, 10.0, id="default"),
        pytest.param("[search]\ntimeout = 25\n", None, 25.0, id="file"),
        pytest.param("[search]\ntimeout = 25\n", "3.5", 3.5, id="environment"),
        pytest.param("[search]\nidle_timeout = 25\n", None, 10.0, id="another-setting"),
        pytest.param("[search]\ntimeout = 'soon'\n", None, 10.0, id="no-number"),
        pytest.param("[search]\ntimeout = -1\n", None, 10.0, id="negative"),
        pytest.param("search = 'timeout'\n", None, 10.0, id="no-section"),
        pytest.param("timeout timeout", None, 10.0, id="no-toml"),
    ],
)
def test_the_time_of_a_look_up_is_known_without_loading_the_settings(
    text: str, variable: str | None, seconds: float, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(text)
    if variable:
        monkeypatch.setenv("HUGINN_SEARCH__TIMEOUT", variable)
    assert config_file.look_up_seconds(None) == seconds
