"""``huginn-search``: words, exit codes, and what it loads (spec 6.5, 6.7, 6.8)."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from search.cli import main
from search.errors import PermanentError, ServerRefused, ServerUnavailable
from search.settings import CONFIG_VARIABLE, Settings
from tests.support.fakes import FakeEmbedder, FakeReader, candidate, current, file_passage
from tests.support.imports import loaded_by


@pytest.fixture(autouse=True)
def _settings_that_list_one_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "huginn.toml"
    path.write_text('[[repositories]]\nname = "one"\nurl = "/srv/one"\n')
    monkeypatch.setenv(CONFIG_VARIABLE, str(path))


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> FakeReader:
    """The collection that the command finds, instead of a server."""
    found = candidate(file_passage("Rotate the key.", "docs/keys.md"))
    fake = FakeReader({"key": [found], "rotate key": [found]}, {"repo:one": current("repo:one")})

    @contextmanager
    def connect(_settings: Settings, role: str, _progress: Callable[[str], None]) -> Iterator[None]:
        assert role == "reader"
        yield None

    monkeypatch.setattr("search.connection.connect", connect)
    monkeypatch.setattr("search.reader.Reader", lambda _client, _alias: fake)
    monkeypatch.setattr("search.embedding.Embedder", lambda _settings, _progress: FakeEmbedder())
    return fake


def fails(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def connect(*_: object) -> None:
        raise error

    monkeypatch.setattr("search.connection.connect", connect)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, env={"SYSTEMD_EXEC_PID": str(os.getpid())})


def test_words_alone_are_a_search(reader: FakeReader) -> None:
    short, whole = run("key"), run("search", "key")
    assert (short.exit_code, short.stdout) == (0, whole.stdout)
    assert short.stdout.startswith("  1. one docs/keys.md:1-1 @ cccccccccccc\n")
    assert reader.asked == ["key", "key"]


def test_options_may_come_before_or_after_the_words(reader: FakeReader) -> None:
    assert run("--json", "key").stdout == run("key", "--json").stdout
    assert run("-k", "3", "key").exit_code == 0
    assert reader.asked == ["key"] * 3


def test_a_double_dash_ends_commands_and_options(reader: FakeReader) -> None:
    assert run("--", "search").exit_code == 1
    assert run("--", "--json").exit_code == 1
    assert run("search", "--", "-k").exit_code == 1
    assert reader.asked == ["search", "--json", "-k"]


@pytest.mark.usefixtures("reader")
def test_one_document_of_json_is_all_that_goes_to_standard_output() -> None:
    result = run("key", "rotate", "--json")
    document = json.loads(result.stdout)
    assert (document["schema"], document["texts"]) == ("huginn.search/1", ["key", "rotate"])
    assert [hit["rank"] for hit in document["hits"]] == [1]


@pytest.mark.usefixtures("reader")
def test_json_is_given_when_there_is_no_hit_too() -> None:
    result = run("nothing", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["hits"] == []


USAGE = [
    pytest.param(["search"], "texts", id="no-words"),
    pytest.param([""], "texts[1]", id="empty"),
    pytest.param(["fine", "  "], "texts[2]", id="blank"),
    pytest.param(["x" * 1_001], "texts[1]", id="too-long"),
    pytest.param(["two\nlines"], "texts[1]", id="two-lines"),
    pytest.param(list("abcdefghi"), "texts", id="nine"),
    pytest.param(["key", "--top-k", "0"], "top_k", id="top-k-0"),
    pytest.param(["key", "--top-k", "101"], "top_k", id="top-k-101"),
    pytest.param(["key", "--top-k", "ten"], "top-k", id="top-k-no-number"),
    pytest.param(["key", "--corpus", "mail"], "corpus", id="corpus"),
    pytest.param(["key", "--corpus", "chat", "--repo", "one"], "repo", id="repo-in-chat"),
    pytest.param(["key", "--colour"], "colour", id="unknown-option"),
    pytest.param(["key", "--config", "missing.toml"], "config", id="no-such-file"),
]


@pytest.mark.parametrize(("arguments", "field"), USAGE)
def test_a_usage_error_names_the_field_before_any_call(
    arguments: list[str], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(monkeypatch, AssertionError("connected"))
    result = run(*arguments)
    assert result.exit_code == 2
    assert field in result.stderr
    assert result.stdout == ""


def test_an_unknown_repository_is_a_usage_error(reader: FakeReader) -> None:
    result = run("key", "--repo", "oone")
    assert (result.exit_code, reader.asked) == (2, [])
    assert "Did you mean 'one'?" in result.stderr


@pytest.mark.parametrize(
    ("texts", "state", "code"),
    [
        pytest.param(["key"], "current", 0, id="hit"),
        pytest.param(["key"], "failed", 0, id="hit-of-a-failed-source"),
        pytest.param(["nothing"], "current", 1, id="nothing-and-all-vouched-for"),
        pytest.param(["nothing"], "failed", 3, id="nothing-and-a-source-failed"),
        pytest.param(["nothing"], "deleting", 3, id="nothing-and-a-source-is-deleting"),
    ],
)
def test_the_exit_code_tells_found_empty_and_broken_apart(
    reader: FakeReader, texts: list[str], state: Any, code: int
) -> None:
    reader.known = {"repo:one": current("repo:one", state=state, reason="gone. Look.")}
    result = run(*texts)
    assert result.exit_code == code
    assert ("unavailable: repo:one: " in result.stdout) == (state != "current")


def test_before_the_first_refresh_the_exit_code_is_3(reader: FakeReader) -> None:
    reader.meta = None
    result = run("key")
    assert result.exit_code == 3
    assert "huginn refresh" in result.stdout


@pytest.mark.parametrize("kind", [ServerUnavailable, ServerRefused, PermanentError])
def test_a_server_that_fails_is_one_line_and_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    fails(monkeypatch, kind("Weaviate did not answer. Start it."))
    result = run("key")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "error: Weaviate did not answer. Start it.\n"


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    ("texts", "hint"),
    [
        pytest.param(["rotate", "key"], 'quote them: "rotate key"', id="words"),
        pytest.param(["rotate key", "key rotation"], None, id="wordings"),
        pytest.param(["rotate key", "key"], None, id="mixed"),
        pytest.param(["key"], None, id="one-word"),
    ],
)
def test_several_single_words_print_the_hint_to_quote(texts: list[str], hint: str | None) -> None:
    result = run(*texts)
    assert "hint" not in result.stdout
    assert (hint or "hint") in result.stderr if hint else "hint" not in result.stderr


def test_a_sentence_without_quotes_gets_the_hint_with_its_usage_error() -> None:
    result = run(*["how", "do", "I", "rotate", "the", "signing", "key", "of", "this"])
    assert result.exit_code == 2
    assert "quote them" in result.stderr


def test_escape_sequences_of_a_passage_do_not_reach_the_output(reader: FakeReader) -> None:
    evil = candidate(file_passage("\x1b[2Jowned\x9b", "\x1b]0;x\x07.md"))
    reader.rankings = {"key": [evil]}
    for arguments in (["key"], ["key", "--json"]):
        assert not {"\x1b", "\x07", "\x9b"} & set(run(*arguments).stdout)


def test_e07_help_the_version_and_a_usage_error_load_the_standard_library_and_click_only() -> None:
    calls = [["--help"], ["search", "--help"], ["--version"], [" "], ["a", "-k", "0"], ["--no"]]
    loaded = loaded_by("search.cli", calls)
    assert loaded.codes == [0, 0, 0, 2, 2, 2]
    assert loaded.heavy == set()


def test_the_read_side_loads_no_part_of_the_write_side() -> None:
    loaded = loaded_by("search.lookups").modules | loaded_by("search.connection").modules
    assert not {name for name in loaded if name.partition(".")[0] in {"tasks", "flows", "prefect"}}


def test_a_crash_is_told_from_nothing_found(monkeypatch: pytest.MonkeyPatch) -> None:
    fails(monkeypatch, OSError("people's words"))
    result = run("ravens")
    assert result.exit_code == 3
    assert "OSError" in result.stderr
    assert "people's words" not in result.output


def test_ctrl_c_is_told_from_nothing_found(monkeypatch: pytest.MonkeyPatch) -> None:
    fails(monkeypatch, KeyboardInterrupt())  # type: ignore[arg-type]
    assert run("ravens").exit_code == 130


@pytest.mark.usefixtures("reader")
def test_jsonl_is_a_line_for_each_hit_that_says_what_it_is() -> None:
    result = run("key", "--jsonl")
    (line,) = result.stdout.splitlines()
    hit = json.loads(line)
    assert (hit["schema"], hit["command"], hit["rank"]) == ("huginn.search/1", "search", 1)
    assert result.exit_code == 0


def test_jsonl_tells_what_is_unavailable_beside_the_lines(reader: FakeReader) -> None:
    reader.known = {"repo:one": current("repo:one", state="failed", reason="gone. Look.")}
    result = run("nothing", "--jsonl")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "unavailable: repo:one: the last run failed: gone. Look." in result.stderr


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        pytest.param(["key", "--json", "--jsonl"], "--json and --jsonl", id="two-forms"),
        pytest.param(["key", "--timeout", "0"], "timeout", id="no-time"),
        pytest.param(["key", "--sort", "size"], "sort", id="sort"),
        pytest.param(["key", "--since", "soon"], "since", id="since"),
        pytest.param(["recent", "-n", "0"], "limit", id="recent-none"),
        pytest.param(["get", "x"], "id", id="no-id"),
        pytest.param(["thread", "x"], "id", id="no-event"),
    ],
)
def test_what_contradicts_itself_or_is_no_value_is_refused_before_any_call(
    arguments: list[str], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(monkeypatch, AssertionError("connected"))
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert field in result.stderr


def test_without_a_service_a_look_up_ends_in_time_too(
    reader: FakeReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.asking.MODEL_SECONDS", 0)
    monkeypatch.setattr(reader, "resolve", lambda: time.sleep(5))
    result = run("key", "--timeout", "0.2")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "no answer within 0.2 s" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion(shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_HUGINN_SEARCH_COMPLETE={shell}_complete" in result.stdout
