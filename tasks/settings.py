"""The settings of the write side: those of ``search.settings``, with what a run is about."""

from pathlib import Path

from search.listing import RepositorySettings
from search.settings import Settings, load_settings
from tasks.adapters.git_places import default_repository
from tasks.errors import SourceNotListed


def run_settings() -> tuple[Settings, bool]:
    """The settings in force, and whether their list of sources is the user's own.

    Without any listed source the one source is the repository you stand in; then nothing is ever
    removed for not being listed (spec 1.5).
    """
    settings = load_settings()
    if settings.has_list:
        return settings, True
    here = default_repository(Path.cwd())
    return settings.model_copy(update={"repositories": (here,)}), False


def repository_named(settings: Settings, name: str) -> RepositorySettings | None:
    """The listed repository of that name."""
    return next((each for each in settings.repositories if each.name == name), None)


def listed_names(source: str | None) -> list[str]:
    """Names of the listed repositories, or of the one that ``source`` means.

    Raises:
        SourceNotListed: none is meant.
    """
    settings, _ = run_settings()
    names = [each.name for each in settings.repositories]
    wanted = source.removeprefix("repo:") if source else None
    if wanted is not None and wanted not in names:
        raise SourceNotListed(f"repo:{wanted}")
    return [name for name in names if wanted in (None, name)]
