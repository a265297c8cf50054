r"""Globs over paths, put so that the server can match them exactly (spec 6.3, R08).

A glob is of ``*`` (any characters of one name), ``?`` (one of them) and ``**`` as a whole name (any
folders, also none); all else stands for itself. It covers a path from its start to its end.

The server's own pattern knows one ``*``, which crosses folders. A path with just as many ``/`` as
the pattern leaves none for its stars to cross, so a pattern together with a number of folders
is exact::

    docs/*.md        like docs/*.md, 1 folder
    docs/**          like docs/*
    **/tests/**      like tests/* or */tests/*
    **/test_*.py     like test_*.py, 0 folders, or */test_*.py, 1 folder, … up to ``DEEPEST``
"""

import re
from dataclasses import dataclass

from search.errors import UsageError

DEEPEST = 16
"""So many folders stand for a ``**`` beside other wildcards, at most."""

_LONGEST = 1_000
_PLAIN_END = re.compile(r"\*?[^*?]*")


@dataclass(frozen=True, slots=True)
class Like:
    """A server's pattern; ``folders`` is how many ``/`` the path has, None: any number."""

    pattern: str
    folders: int | None = None


def likes(field: str, glob: str) -> tuple[Like, ...]:
    """Patterns of which a path must meet one to be covered by ``glob``.

    Raises:
        UsageError: it is blank or too long, or mixes several ``**`` with other wildcards.
    """
    given = glob.removeprefix("./")
    if not given.strip() or len(given.encode()) > _LONGEST:
        raise UsageError(field, "it is blank or too long", "Give a glob like docs/**/*.md.")
    if given.startswith("/"):
        raise UsageError(field, "it starts with a slash", "Paths start at the repository's root.")
    names = _without_repeats(given.split("/"))
    if "**" not in names:
        return (Like("/".join(names), len(names) - 1),)
    if _is_plain(names):
        return tuple(Like(pattern) for pattern in dict.fromkeys(_joined(names)))
    if names.count("**") == 1:
        at = names.index("**")
        deep = (names[:at] + ["*"] * depth + names[at + 1 :] for depth in range(DEEPEST + 1))
        return tuple(Like("/".join(some), len(some) - 1) for some in deep if some != names[:at])
    raise UsageError(
        field, f"{glob!r} has several ** beside other wildcards", "Give several simpler globs."
    )


def _without_repeats(names: list[str]) -> list[str]:
    """Two ``**`` in a row say what one says."""
    follow = zip([None, *names], names, strict=False)
    return [name for before, name in follow if not before == name == "**"]


def _is_plain(names: list[str]) -> bool:
    """Whether no wildcard but ``**`` could cross a folder: the last name may start with one."""
    *others, last = names
    free = last == "**" or (_PLAIN_END.fullmatch(last) and (names[-2] == "**" or "*" not in last))
    return bool(free) and not any("*" in name or "?" in name for name in others if name != "**")


def _joined(names: list[str]) -> list[str]:
    """All ways to write the path with each ``**`` as no folder or as any."""
    *others, last = names
    made = [""]
    for name in others:
        made = (
            [start + more for start in made for more in ("", "*/")]
            if name == "**"
            else [f"{start}{name}/" for start in made]
        )
    return [start + ("*" if last == "**" else last) for start in made]
