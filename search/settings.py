"""Settings: where Weaviate is, which model embeds, what is listed.

Sources, strongest first: ``HUGINN_…`` environment variables (``__`` between levels),
``huginn.toml``, defaults. The file is the one named by ``--config``, else
by ``HUGINN_CONFIG``, else ``huginn.toml`` in the folder you stand in, else the one in the user's
configuration folder (spec 1.5). A key stands in the setting itself, in a file of its own
(``…_file``), or in a systemd credentials directory.
"""

import os
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings import (
    SettingsError as SourceError,
)

from search.config_file import (
    CONFIG_VARIABLE,
    LOOK_UP_SECONDS,
    config_path,
)
from search.errors import SettingsError
from search.listing import RepositorySettings, anchored
from search.matrix_listing import TOKEN_VARIABLE, MatrixSettings

WEAVIATE_VERSION = "1.39.0"  # the one place that pins it
BUNDLED_MODEL = "all-MiniLM-L6-v2"


def expanded(value: Path | None) -> Path | None:
    """A path with ``~`` taken for the home folder."""
    try:
        return value.expanduser() if value is not None else None
    except RuntimeError:
        raise ValueError("names a home folder that does not exist") from None


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WeaviateSettings(_Section):
    """How to reach Weaviate. Without ``url`` Huginn runs its own (spec 1.4).

    ``url`` is the HTTP address, ``grpc_url`` the gRPC one (default: the same host, port 50051).
    ``binary`` names a ``weaviate-server`` to run; times are in seconds.
    """

    url: str | None = None
    grpc_url: str | None = None
    writer_key: SecretStr | None = None
    writer_key_file: Path | None = None
    reader_key: SecretStr | None = None
    reader_key_file: Path | None = None
    collection: str = Field(default="Huginn", pattern=r"^[A-Z][A-Za-z0-9]{0,60}$")
    binary: Path | None = None
    start_timeout: float = Field(default=120, gt=0)

    _paths = field_validator("writer_key_file", "reader_key_file", "binary")(expanded)

    @field_validator("grpc_url")
    @classmethod
    def _is_another_port(cls, value: str | None, info: ValidationInfo) -> str | None:
        url = info.data.get("url")
        if value and url and urlsplit(value).netloc == urlsplit(url).netloc:
            raise ValueError("is the same as url: name the port of Weaviate's gRPC, often 50051")
        return value

    @field_validator("url", "grpc_url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        if value is None:
            return None
        if any(mark in value for mark in "@?#"):
            raise ValueError("carries a user name, key or query: use writer_key and reader_key")
        try:
            parts = urlsplit(value)
            named = parts.hostname is not None and (parts.port or 0) >= 0
        except ValueError:
            named = False
        if not named:
            raise ValueError("names no host, or a port that is no number")
        return value


class EmbedderSettings(_Section):
    """Which model turns text into vectors: a sentence-transformers name or a folder."""

    model: str = Field(default=BUNDLED_MODEL, min_length=1)
    batch_size: int = Field(default=32, ge=1, le=1024)


class ForgeSettings(_Section):
    """What is taken from repositories; sizes in bytes, times in seconds (spec 5)."""

    commit_messages: bool = True
    merge_commits: bool = False
    bot_commits: bool = True
    max_file_bytes: int = Field(default=1_000_000, ge=1)
    git_timeout: float = Field(default=600, gt=0)


class SearchSettings(_Section):
    """Look-ups: how long one may take, and how long the service waits for the next; seconds."""

    timeout: float = Field(default=LOOK_UP_SECONDS, gt=0)
    idle_timeout: float = Field(default=900, gt=0)


class Settings(BaseSettings):
    """Everything that ``huginn.toml`` may hold; only the rooms' tasks read the Matrix token."""

    model_config = SettingsConfigDict(
        env_prefix="HUGINN_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
    )

    data_dir: Path = Field(default_factory=lambda: platformdirs.user_data_path("huginn"))
    cache_dir: Path = Field(default_factory=lambda: platformdirs.user_cache_path("huginn"))
    weaviate: WeaviateSettings = WeaviateSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    forge: ForgeSettings = ForgeSettings()
    search: SearchSettings = SearchSettings()
    lease_seconds: int = Field(default=120, ge=5, le=3_600)
    min_free_bytes: int = Field(default=2**30, ge=0)
    matrix: MatrixSettings = MatrixSettings()
    repositories: tuple[RepositorySettings, ...] = ()

    _paths = field_validator("data_dir", "cache_dir")(expanded)

    @field_validator("repositories")
    @classmethod
    def _names_are_unique(
        cls, value: tuple[RepositorySettings, ...]
    ) -> tuple[RepositorySettings, ...]:
        names = [repository.name.casefold() for repository in value]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the name {twice[0]!r} is listed twice, rename one")
        return value

    @property
    def has_list(self) -> bool:
        """Whether the user lists sources, be the list empty (spec 1.5)."""
        return "repositories" in self.model_fields_set or self.matrix.homeserver is not None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  # pydantic-settings' signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The order of the sources, strongest first: the environment, then the file's content."""
        return env_settings, init_settings


def load_settings(named: Path | None = None, *, shown_as: Path | None = None) -> Settings:
    """The settings in force; errors call the file ``shown_as`` if it is the draft of another.

    Raises:
        SettingsError: a setting is off; names it with its value (never a secret's) and the fix.
    """
    path = config_path(named)
    content: dict[str, object] = {}
    if path is not None:
        draft, path = path, shown_as or path
        try:
            content = tomllib.loads(draft.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError("config", f"{path}: {error}", "Mend the file.") from error
        _anchor(content.get("repositories"), path.parent)
    for name in content:
        if name not in Settings.model_fields:
            raise SettingsError(name, "there is no such setting", _fix(name, path))
    _check_environment()
    try:
        return Settings(**content)  # type: ignore[arg-type]  # pydantic checks what the file holds
    except ValidationError as error:
        raise _as_settings_error(error, path) from None
    except SourceError as error:  # An environment variable that should hold JSON and does not.
        raise SettingsError(
            "environment", str(error), "Use HUGINN_SECTION__NAME for one setting of a section."
        ) from None


def _anchor(repositories: object, folder: Path) -> None:
    """A folder in the file means the same from wherever Huginn is run."""
    for each in repositories if isinstance(repositories, list) else ():
        if isinstance(each, dict) and isinstance(each.get("url"), str):
            each["url"] = anchored(each["url"], folder)


def _check_environment() -> None:
    for variable in os.environ:
        name = variable.removeprefix("HUGINN_").split("__")[0].lower()
        known = name in Settings.model_fields or variable in (CONFIG_VARIABLE, TOKEN_VARIABLE)
        if variable.startswith("HUGINN_") and not variable.startswith("HUGINN_TEST_") and not known:
            raise SettingsError(
                variable, "there is no such setting", "Unset it; docs/settings.md lists them all."
            )


def _as_settings_error(error: ValidationError, path: Path | None) -> SettingsError:
    first = error.errors(include_url=False, include_context=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "settings"
    reason = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        reason = "there is no such setting"
    elif (
        "key" not in field
        and "token" not in field
        and isinstance(first["input"], str | int | float)
    ):
        reason = f"{_without_secrets(first['input'])!r}: {reason}"
    return SettingsError(field, reason, _fix(field, path))


def _fix(field: str, path: Path | None) -> str:
    variable = "HUGINN_" + field.replace(".", "__").upper()
    where = variable if path is None or variable in os.environ else str(path)
    return f"Change it in {where}; docs/settings.md lists them all."


def _without_secrets(value: object) -> str:
    """An address that can hold a login, or parameters, is not repeated in an error message."""
    text = str(value)
    return "…" if any(mark in text for mark in "@?#") else text


def secret(value: SecretStr | None, file: Path | None, credential: str) -> str | None:
    """A key or token from, in order: the setting, its ``…_file``, the credentials directory.

    ``credential`` is the file's name in systemd's ``$CREDENTIALS_DIRECTORY``.
    """
    if value is not None:
        return value.get_secret_value()
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    candidates = [file] if file else [Path(folder) / credential] if folder else []
    for candidate in candidates:
        try:
            return candidate.read_text(encoding="utf-8").strip()
        except OSError as error:
            if candidate == file:
                problem = f"{candidate}: {error.strerror}"
                raise SettingsError(credential, problem, "Name a readable file.") from error
    return None
