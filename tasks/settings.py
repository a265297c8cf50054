"""The settings of the write side: those of ``search.settings``, with what a run is about."""

import os
from pathlib import Path

from pydantic import SecretStr

from search.errors import SettingsError
from search.listing import RepositorySettings
from search.matrix_listing import TOKEN_VARIABLE
from search.settings import Settings, load_settings, secret
from tasks.adapters.git_places import default_repository
from tasks.aim import aim
from tasks.errors import SourceNotListed


def run_settings() -> tuple[Settings, bool]:
    """The settings in force, and whether their list of sources is the user's own.

    Without any listed source the one source is the repository you stand in; then nothing is ever
    removed for not being listed (spec 1.5).
    """
    settings = aim().applied(load_settings())
    if settings.has_list:
        return settings, True
    here = default_repository(Path.cwd())
    return settings.model_copy(update={"repositories": (here,)}), False


def repository_named(settings: Settings, name: str) -> RepositorySettings | None:
    """The listed repository of that name."""
    return next((each for each in settings.repositories if each.name == name), None)


def is_room(source: str) -> bool:
    """Whether a source named by the operator is a room: ``chat:…``, a room id or an alias."""
    return source.startswith(("chat:", "!", "#"))


def listed_names(source: str | None) -> list[str]:
    """Names of the listed repositories, or of the one that ``source`` means; no room's.

    Raises:
        SourceNotListed: no repository is listed under that name.
    """
    if source is not None and is_room(source):
        return []
    settings, _ = run_settings()
    names = [each.name for each in settings.repositories]
    wanted = source.removeprefix("repo:") if source else None
    if wanted is not None and wanted not in names:
        raise SourceNotListed(f"repo:{wanted}")
    return [name for name in names if wanted in (None, name)]


def matrix_token(settings: Settings) -> str:
    """The reader's access token: only the tasks of the rooms ask for it (spec 1.5).

    Raises:
        SettingsError: there is none.
    """
    given = os.environ.get(TOKEN_VARIABLE)
    token = secret(SecretStr(given) if given else None, settings.matrix.token_file, "matrix-token")
    if not token:
        raise SettingsError(
            "matrix.token_file",
            "there is no access token for the reader",
            f"Name a file (mode 0600) that holds it and nothing else, or set {TOKEN_VARIABLE}.",
        )
    return token
