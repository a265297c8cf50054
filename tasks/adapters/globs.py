"""Include and exclude globs of a repository, by wcmatch (``**`` crosses folders)."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from wcmatch import glob

_FLAGS = glob.GLOBSTAR | glob.DOTGLOB | glob.BRACE | glob.FORCEUNIX


def chosen_by(include: Sequence[str], exclude: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path is wanted: in any of ``include`` (none: everything) and in no ``exclude``."""
    return _chosen_by(tuple(include), tuple(exclude))


def named_by(include: Sequence[str], kind: Callable[[str], bool]) -> Callable[[str], bool]:
    """Whether a path is included by a glob that is itself of that ``kind`` of paths.

    ``vendor/ours/**`` names a vendored folder, so what it includes is meant though it is vendored;
    ``**/*.py`` does not.
    """
    return chosen_by(naming, ()) if (naming := tuple(filter(kind, include))) else lambda _: False


@lru_cache(maxsize=64)
def _chosen_by(include: tuple[str, ...], exclude: tuple[str, ...]) -> Callable[[str], bool]:
    if not include and not exclude:
        return lambda _: True
    wanted = glob.compile(include, flags=_FLAGS) if include else None
    unwanted = glob.compile(exclude, flags=_FLAGS) if exclude else None
    return lambda path: bool(
        (wanted is None or wanted.match(path)) and not (unwanted and unwanted.match(path))
    )
