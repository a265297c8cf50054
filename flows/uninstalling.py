"""``huginn uninstall``: takes away what Huginn put on this machine, and nothing else."""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from flows.server import stop_service
from search import embedded
from search.errors import UsageError
from search.settings import Settings, load_settings

CACHE = {"weaviate", "mirrors"}
DATA = {"weaviate", "search", "run", "http-token", "purges.jsonl", "collection.lock"}
"""What Huginn makes in the two folders; anything else in them is somebody's own."""

STAYS = (
    "your settings file, and files it names",
    "Prefect's own data, and deployments (`prefect deployment delete`)",
    "the package itself (remove its folder or environment)",
)


@dataclass(frozen=True, slots=True)
class Doomed:
    """One thing that goes: its path and the bytes that it takes on the disk."""

    path: Path
    size: int


def uninstall(*, data: bool, yes: bool, as_json: bool) -> int:
    """Lists what goes, asks unless ``yes``, stops what runs, and removes it."""
    settings = load_settings()
    folders = [(settings.cache_dir, CACHE, "cache_dir")]
    folders += [(settings.data_dir, DATA, "data_dir")] if data else []
    doomed = [each for folder in folders for each in _doomed(*folder)]
    if not yes and doomed:
        _confirm(doomed)
    _stop(settings)
    for each in doomed:
        _remove(each.path)
    for folder, _, _ in folders:
        with suppress(OSError):  # never made, or a link: the link is the user's
            folder.rmdir()
    stays = list(STAYS)
    if not data and settings.data_dir.exists():
        stays.insert(0, f"what was ingested, in {settings.data_dir} (--data removes it too)")
    if as_json:
        removed = [{"path": str(each.path), "bytes": each.size} for each in doomed]
        facts = {"schema": "huginn.uninstall/1", "removed": removed, "stays": stays}
        click.echo(json.dumps(facts, indent=2))
        return 0
    for each in doomed:
        click.echo(f"removed {each.path} ({each.size / 1e6:.1f} MB)")
    if not doomed:
        click.echo("nothing to remove")
    for line in stays:
        click.echo(f"stays: {line}")
    return 0


def _doomed(folder: Path, ours: set[str], setting: str) -> Iterator[Doomed]:
    """What of ``folder`` is ours.

    Raises:
        UsageError: it holds something that Huginn did not make.
    """
    if not folder.is_dir():
        return
    if folder.resolve() in (Path.home().resolve(), Path("/")):
        raise UsageError(setting, f"{folder} is no folder of Huginn's alone", "Remove it by hand.")
    entries = sorted(folder.iterdir())
    others = [each.name for each in entries if each.name not in ours]
    if others:
        raise UsageError(
            setting,
            f"{folder} holds what Huginn did not make ({', '.join(others[:5])})",
            "Move that away, or remove Huginn's own by hand: nothing was removed.",
        )
    for each in entries:
        yield Doomed(each, _size(each))


def _size(path: Path) -> int:
    found = [path] if path.is_symlink() or not path.is_dir() else [path, *path.rglob("*")]
    total = 0
    for each in found:
        with suppress(OSError):
            total += each.lstat().st_blocks * 512
    return total


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)


def _stop(settings: Settings) -> None:
    stop_service()
    if settings.weaviate.url is None:
        embedded.stop(settings)


def _confirm(doomed: list[Doomed]) -> None:
    for each in doomed:
        click.echo(f"{each.path} ({each.size / 1e6:.1f} MB)", err=True)
    if not sys.stdin.isatty():
        raise UsageError("yes", "nobody is there to be asked", "Give --yes to remove all that.")
    if not click.confirm("Remove all that?", err=True):
        raise UsageError("yes", "not confirmed", "Nothing was removed.")
