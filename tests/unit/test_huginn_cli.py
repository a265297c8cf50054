"""``huginn``: exit codes, what it prints, and what it loads (spec 1.3, 1.5)."""

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from flows.cli import main
from search import cli as search_cli
from search.errors import PermanentError, SettingsError, TransientError
from search.settings import CONFIG_VARIABLE, WEAVIATE_VERSION
from tests.support.git_repos import GitRepo
from tests.support.imports import loaded_by


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a settings file whose data folder is empty: no server runs."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv(CONFIG_VARIABLE, "")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    write(folder, '[[repositories]]\nname = "one"\nurl = "/srv/one"\nlabel = "The first"\n')
    return folder


def write(folder: Path, listed: str, name: str = "huginn.toml") -> Path:
    path = folder / name
    places = f'data_dir = "{folder / "data"}"\ncache_dir = "{folder / "cache"}"\n'
    path.write_text(places + listed)
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def fails(error: BaseException) -> Callable[..., int]:
    def command(*_: object, **__: object) -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(SettingsError("data_dir", "it is full", "Free space."), 2, id="settings"),
        pytest.param(PermanentError("It is gone. Look for it."), 1, id="permanent"),
        pytest.param(TransientError("No answer. Try again."), 1, id="transient"),
    ],
)
def test_an_error_is_one_line_with_its_way_out(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.server.stop", fails(error))
    result = run("down")
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr == f"error: {error}\n"


def test_ctrl_c_says_that_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.server.stop", fails(KeyboardInterrupt()))
    result = run("down")
    assert result.exit_code == 130
    assert "what was acknowledged is kept" in result.stderr


@pytest.mark.parametrize("arguments", [["backfill"], ["backfill", "one", "--all"]])
def test_a_backfill_wants_one_source_or_all_and_not_both(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Give one SOURCE, or --all." in result.stderr


def test_the_file_of_the_option_beats_the_one_of_the_variable(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONFIG_VARIABLE, str(write(here, "", "variable.toml")))
    named = write(here, '[[repositories]]\nname = "named"\nurl = "/srv/named"\n', "named.toml")
    shown = run("sources", "list", "--config", str(named)).stdout
    assert shown.startswith("repo:named ")


def test_sources_are_listed_without_starting_a_server(here: Path) -> None:
    result = run("sources", "list")
    assert result.exit_code == 0
    assert result.stdout == "repo:one  unknown (server down)  0 passages  /srv/one\n"
    assert not (here / "data").exists()


def test_sources_as_json_are_huginn_sources_1_field_by_field() -> None:
    assert json.loads(run("sources", "list", "--json").stdout) == {
        "schema": "huginn.sources/1",
        "sources": [
            {
                "source": "repo:one",
                "address": "/srv/one",
                "alias": None,
                "label": "The first",
                "state": "unknown (server down)",
                "passages": 0,
                "commit": None,
                "last_success": None,
                "covered_since": None,
                "reason": None,
            }
        ],
    }


def test_without_a_list_the_source_is_the_repository_one_stands_in(here: Path) -> None:
    write(here, "")
    GitRepo(here)
    result = run("sources", "list")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"repo:{here.name}  ")
    assert "the repository you stand in" in result.stdout


def test_without_a_list_and_outside_of_any_repository_the_way_out_is_told(here: Path) -> None:
    write(here, "")
    result = run("sources", "list")
    assert result.exit_code == 2
    assert "huginn sources add" in result.stderr


def test_an_empty_list_lists_nothing_and_not_the_repository_one_stands_in(here: Path) -> None:
    write(here, "repositories = []\n")
    GitRepo(here)
    assert json.loads(run("sources", "list", "--json").stdout)["sources"] == []


def test_status_of_a_server_that_was_never_started(here: Path) -> None:
    result = run("status")
    assert result.exit_code == 1
    assert "`huginn up` starts it" in result.stdout
    assert not (here / "data").exists()


def test_status_as_json_is_huginn_status_1_field_by_field(here: Path) -> None:
    result = run("status", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document.pop("reason")
    assert document == {
        "schema": "huginn.status/1",
        "running": False,
        "ready": False,
        "pid": None,
        "http_port": None,
        "grpc_port": None,
        "version": WEAVIATE_VERSION,
        "since": None,
        "data": str(here / "data" / "weaviate" / "data"),
        "log": str(here / "data" / "weaviate" / "run" / "weaviate.log"),
        "size": 0,
    }


def test_stopping_what_does_not_run_is_no_error() -> None:
    result = run("down")
    assert result.exit_code == 0
    assert "nothing to stop" in result.stdout


@pytest.mark.parametrize("command", ["up", "down", "status"])
def test_somebody_elses_server_is_not_started_stopped_or_looked_at(
    here: Path, command: str
) -> None:
    write(here, '[weaviate]\nurl = "http://127.0.0.1:1"\n')
    result = run(command)
    assert result.exit_code == 2
    assert "weaviate.url" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["refresh"], ["backfill", "one"], ["sources", "list"], ["up"], ["down"], ["status"]],
    ids=" ".join,
)
def test_every_command_names_a_bad_setting_before_it_does_anything(
    here: Path, arguments: list[str]
) -> None:
    write(here, "[forge]\nmax_file_bytes = 0\n")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "forge.max_file_bytes" in result.stderr
    assert not (here / "data").exists()


def test_help_the_version_and_a_usage_error_load_the_standard_library_and_click_only() -> None:
    calls = [["--help"], ["refresh", "--help"], ["--version"], ["backfill"], ["no-such-command"]]
    loaded = loaded_by("flows.cli", calls)
    assert loaded.codes == [0, 0, 0, 2, 2]
    assert loaded.heavy == set()


def test_a_refresh_can_look_around_without_loading_prefect_or_the_model() -> None:
    """Spec 1.2, 4.10: with nothing new only freshness is written, and neither is loaded."""
    loaded = loaded_by("flows.running")
    assert not {"prefect", "torch", "sentence_transformers", "weaviate"} & loaded.heavy


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (main, 'huginn-search "words"       look things up'),
        (search_cli.main, 'huginn-search "cursor" --repo huginn --json'),
        (search_cli.completion, 'eval "$(huginn-search completion bash)"'),
    ],
)
def test_the_examples_of_help_stand_in_lines_of_their_own(
    command: click.Command, line: str
) -> None:
    shown = CliRunner().invoke(command, ["--help"]).output
    assert line in [each.strip() for each in shown.splitlines()]


@pytest.mark.parametrize("option", [["--json"], ["--config", "huginn.toml"]])
def test_options_of_doctor_before_its_command_are_refused(option: list[str]) -> None:
    result = run("doctor", *option, "matrix")
    assert result.exit_code == 2
    assert "Give the options after matrix." in result.output


def test_a_folder_that_is_not_there_is_listed_and_told() -> None:
    result = run("sources", "add", "later", "/nowhere/to/be/seen")
    assert result.exit_code == 0
    assert "there is no folder /nowhere/to/be/seen here yet" in result.stderr
    assert "no folder" not in run("sources", "add", "far", "https://git.example.org/far").output
