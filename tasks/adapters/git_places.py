"""Where one stands, and what a listed repository is a clone of (spec 1.5)."""

import re
from pathlib import Path

from pydantic import ValidationError

from search.errors import UsageError
from search.listing import RepositorySettings, is_local
from tasks.adapters.git_errors import error_of, shown
from tasks.adapters.git_process import Finished, run

_SECONDS = 30.0


def default_repository(folder: Path) -> RepositorySettings:
    """The repository that ``folder`` is in, named by its remote origin, else by its own folder.

    Raises:
        UsageError: the folder is in no repository.
        RepositoryUnreadable: it is, but git refuses to read it.
    """
    here = folder.absolute()
    top = _git(here, "rev-parse", "--show-toplevel")
    if top.code != 0:  # a bare one, or inside .git
        top = _git(here, "rev-parse", "--absolute-git-dir")
    if top.code != 0:
        if "not a git repository" not in top.errors:
            raise error_of(top, str(here), _SECONDS)
        raise UsageError(
            "repositories",
            f"none is listed, and {here} is in no git repository",
            "Go to one, or list one: huginn sources add NAME ADDRESS.",
        )
    place = Path(top.output.decode("utf-8", "surrogateescape").removesuffix("\n"))
    own = place.parent if place.name == ".git" else place
    try:
        return RepositorySettings(name=_name(_origin(place) or str(own)), url=str(place))
    except ValidationError as error:
        raise UsageError(
            "repositories",
            f"{here} cannot be listed by itself",
            "List it by name: huginn sources add NAME ADDRESS.",
        ) from error


def identity(settings: RepositorySettings) -> str:
    """What tells two repositories of one name apart: a folder's remote origin, else the address.

    Without user name, password or token.
    """
    local = is_local(settings.url)
    origin = _origin(Path(settings.url.removeprefix("file://"))) if local else None
    return shown(origin or settings.url)


def _origin(place: Path) -> str | None:
    url = _git(place, "config", "--local", "--get", "remote.origin.url", upwards=False)
    return url.output.decode("utf-8", "surrogateescape").strip() or None


def _name(address: str) -> str:
    last = re.split(r"[/:]", address.rstrip("/"))[-1].removesuffix(".git")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).lstrip("._-")[:100] or "repository"


def _git(place: Path, *arguments: str, upwards: bool = True) -> Finished:
    ceiling = {} if upwards else {"GIT_CEILING_DIRECTORIES": str(place.parent)}
    return run(["-C", str(place), *arguments], timeout=_SECONDS, environment=ceiling)
