"""Where settings come from, and how a bad one is told (spec 1.5)."""

from pathlib import Path

import pytest

from search.config_file import CONFIG_NAME, config_path
from search.errors import SettingsError
from search.settings import (
    EmbedderSettings,
    ForgeSettings,
    WeaviateSettings,
    load_settings,
    secret,
)

SECRET = "s3cret" + "-key"


@pytest.fixture(autouse=True)
def _a_place_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)


def write(text: str, path: str = CONFIG_NAME) -> Path:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")
    return Path(path).absolute()


def refusal(named: Path | None = None) -> SettingsError:
    with pytest.raises(SettingsError) as refused:
        load_settings(named)
    return refused.value


def test_without_a_file_or_a_variable_everything_has_its_default() -> None:
    settings = load_settings()
    assert settings.weaviate == WeaviateSettings()
    assert settings.embedder == EmbedderSettings()
    assert settings.forge == ForgeSettings()
    assert settings.repositories == ()
    assert settings.weaviate.url is None
    assert settings.weaviate.collection == "Huginn"


def test_the_file_is_read_in_full() -> None:
    write("""
        data_dir = "/d"
        [weaviate]
        url = "https://w.example.org"
        grpc_url = "https://g.example.org"
        collection = "Other"
        [embedder]
        batch_size = 8
        [forge]
        commit_messages = false
        [[repositories]]
        name = "one"
        url = "https://git.example.org/one.git"
        include = ["docs/**"]
        label = "The first"
    """)
    settings = load_settings()
    assert settings.data_dir == Path("/d")
    assert settings.weaviate.grpc_url == "https://g.example.org"
    assert (settings.weaviate.collection, settings.embedder.batch_size) == ("Other", 8)
    assert not settings.forge.commit_messages
    (repository,) = settings.repositories
    assert (repository.source, repository.include) == ("repo:one", ("docs/**",))


def test_the_environment_beats_the_file_and_leaves_the_rest_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write('[weaviate]\nurl = "http://file"\ncollection = "File"')
    monkeypatch.setenv("HUGINN_WEAVIATE__URL", "http://environment")
    settings = load_settings()
    assert (settings.weaviate.url, settings.weaviate.collection) == ("http://environment", "File")


def test_repositories_can_come_from_the_environment_as_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUGINN_REPOSITORIES", '[{"name": "one", "url": "/srv/one"}]')
    assert [each.url for each in load_settings().repositories] == ["/srv/one"]


def test_the_file_is_the_named_one_then_the_variables_then_here_then_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert config_path() is None
    users = write("", str(tmp_path / "home" / "config" / "huginn" / CONFIG_NAME))
    assert config_path() == users
    here = write("")
    assert config_path() == here
    monkeypatch.setenv("HUGINN_CONFIG", str(write("", "by-variable.toml")))
    assert config_path() == Path("by-variable.toml").absolute()
    named = write("", "named.toml")
    assert config_path(named) == named


def test_a_named_file_that_is_missing_is_an_error_and_not_the_next_in_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("")
    assert refusal(Path("missing.toml")).field == "config"
    monkeypatch.setenv("HUGINN_CONFIG", "missing.toml")
    assert "missing.toml" in str(refusal())


@pytest.mark.parametrize(
    "content", ["data_dir = ", "[weaviate\n", "a = 1\na = 2\n"], ids=["cut", "bracket", "twice"]
)
def test_a_file_that_is_no_toml_is_named(content: str) -> None:
    path = write(content)
    assert str(path) in str(refusal())


def test_a_file_that_is_no_text_is_named() -> None:
    Path(CONFIG_NAME).write_bytes(b'label = "caf\xe9"')
    assert CONFIG_NAME in str(refusal())


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("data-dir = '/d'", "data-dir"),
        ("[weaviate]\nhost = 'x'", "weaviate.host"),
        ("[mattrix]\nhomeserver = 'x'", "mattrix"),
        ("[[repositories]]\nname='a'\nurl='/a'\ncolour='red'", "repositories.0.colour"),
    ],
    ids=["hyphen", "in-a-section", "section", "in-a-repository"],
)
def test_a_setting_that_does_not_exist_is_refused_by_name(content: str, field: str) -> None:
    path = write(content)
    error = refusal()
    assert error.field == field
    assert error.reason == "there is no such setting"
    assert str(path) in error.fix


@pytest.mark.parametrize(
    ("content", "field", "value"),
    [
        ("[forge]\nmax_file_bytes = 0", "forge.max_file_bytes", "0"),
        ("[forge]\ngit_timeout = -1", "forge.git_timeout", "-1"),
        ("[embedder]\nbatch_size = 'many'", "embedder.batch_size", "many"),
        ("[embedder]\nmodel = ''", "embedder.model", "''"),
        ("[weaviate]\ncollection = 'lower'", "weaviate.collection", "lower"),
        ("[weaviate]\nurl = 'ftp://w.example.org'", "weaviate.url", "ftp://w.example.org"),
        ("[weaviate]\nstart_timeout = 0", "weaviate.start_timeout", "0"),
        ("[[repositories]]\nname='a b'\nurl='/a'", "repositories.0.name", "a b"),
        ("[[repositories]]\nname='a'\nurl='ext::sh'", "repositories.0.url", "ext::sh"),
    ],
)
def test_a_bad_value_is_told_with_its_name_itself_and_where_to_mend_it(
    content: str, field: str, value: str
) -> None:
    path = write(content)
    error = refusal()
    assert error.field == field
    assert value in error.reason
    assert str(path) in error.fix


def test_two_repositories_of_one_name_are_refused_whatever_their_case() -> None:
    write("[[repositories]]\nname='Core'\nurl='/a'\n[[repositories]]\nname='core'\nurl='/b'")
    assert "'core' is listed twice" in str(refusal())


@pytest.mark.parametrize(
    "content",
    [
        f"[weaviate]\nwriter_key = ['{SECRET}']",
        f"[weaviate]\nreader_key = {{a = '{SECRET}'}}",
        f"[weaviate]\nwriter_keys = '{SECRET}'",
        f"[weaviate]\nurl = 'ftp://user:{SECRET}@w.example.org'",
        f"[[repositories]]\nname='a'\nurl='https://user:{SECRET}@git.example.org/a'",
        f"[[repositories]]\nname='a'\nurl='https://{SECRET}@git.example.org/a'",
        f"repositories = ['https://user:{SECRET}@git.example.org/a']",
        f"[[repositories]]\nname='a'\nurl='https://git.example.org/a?private_token={SECRET}'",
        f"[[repositories]]\nname='a'\nurl='oauth2:{SECRET}@git.example.org:a/b.git'",
        f"[[repositories]]\nname='a'\nurl='https://user:a {SECRET}@git.example.org/a'",
        f"[weaviate]\nurl = 'http://w.example.org/?key={SECRET}'",
    ],
    ids=[
        *("list", "table", "misspelt", "in-url", "password", "token", "not-a-table"),
        *("query", "scp", "blank", "server-query"),
    ],
)
def test_no_error_shows_a_secret(content: str) -> None:
    write(content)
    error = refusal()
    assert SECRET not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__


def test_a_secret_is_hidden_when_settings_are_printed() -> None:
    write(f"[weaviate]\nwriter_key = '{SECRET}'")
    settings = load_settings()
    assert SECRET not in repr(settings)
    assert SECRET not in str(settings.weaviate)
    assert SECRET not in settings.model_dump_json()


def test_a_key_comes_from_the_setting_then_its_file_then_the_credentials_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text(" from-file\n")
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "huginn-writer-key").write_text("from-directory\n")
    write(f"[weaviate]\nwriter_key = 'from-setting'\nwriter_key_file = '{file}'")
    chosen = load_settings().weaviate
    assert secret(chosen.writer_key, chosen.writer_key_file, "huginn-writer-key") == "from-setting"
    assert secret(None, file, "huginn-writer-key") == "from-file"
    assert secret(None, None, "huginn-writer-key") is None
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "credentials"))
    assert secret(None, file, "huginn-writer-key") == "from-file"
    assert secret(None, None, "huginn-writer-key") == "from-directory"
    assert secret(None, None, "huginn-reader-key") is None


def test_a_key_file_that_cannot_be_read_is_an_error_and_not_a_missing_key(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        secret(None, tmp_path / "missing", "huginn-writer-key")
    assert str(tmp_path / "missing") in str(refused.value)


def test_settings_cannot_be_changed_after_they_were_read() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().data_dir = Path("/other")  # type: ignore[misc]


@pytest.mark.parametrize("variable", ["HUGINN_WEAVIATE", "HUGINN_REPOSITORIES"])
def test_a_variable_that_is_no_json_is_named(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, f"not json {SECRET}")
    error = refusal()
    assert variable.removeprefix("HUGINN_").lower() in error.reason
    assert SECRET not in str(error)


def test_a_variable_that_names_no_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUGINN_DATADIR", "/d")
    assert "HUGINN_DATADIR" in str(refusal())


def test_an_empty_variable_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    default = load_settings().data_dir
    monkeypatch.setenv("HUGINN_DATA_DIR", "")
    assert load_settings().data_dir == default


def test_a_bad_value_from_the_environment_is_not_blamed_on_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write("")
    monkeypatch.setenv("HUGINN_FORGE__MAX_FILE_BYTES", "0")
    error = refusal()
    assert error.field == "forge.max_file_bytes"
    assert "HUGINN_FORGE__MAX_FILE_BYTES" in str(error)
    assert str(path) not in str(error)


def test_a_private_name_of_the_settings_library_is_no_setting() -> None:
    write("_env_file = 'x'")
    assert refusal().field == "_env_file"


def test_a_tilde_means_the_users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    write("cache_dir = '~/c'\n[weaviate]\nwriter_key_file = '~/key'")
    settings = load_settings()
    assert settings.cache_dir == Path("/home/ada/c")
    assert settings.weaviate.writer_key_file == Path("/home/ada/key")


@pytest.mark.parametrize("url", ["http://w.example.org:notaport", "http://", "http://:80"])
def test_a_server_without_host_or_port_number_is_refused(url: str) -> None:
    write(f"[weaviate]\nurl = '{url}'")
    assert refusal().field == "weaviate.url"


def test_one_port_for_both_of_weaviates_protocols_is_refused() -> None:
    write("[weaviate]\nurl = 'https://w.example.org:443'\ngrpc_url = 'https://w.example.org:443'")
    with pytest.raises(SettingsError, match=r"grpc_url.*is the same as url"):
        load_settings()
