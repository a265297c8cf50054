"""A request's arguments as they come over a wire, taken apart with their types checked.

Programs send JSON, so any name may hold any type. Standard library only: the thin client checks
its request with the same functions before anything is started (spec 6.1, 6.8).
"""

from collections.abc import Mapping
from typing import Any

from search.errors import UsageError

Arguments = Mapping[str, Any]
"""Names are those of the command line's options with ``_`` for ``-``; None counts as not given."""


def refuse_unknown(arguments: Arguments, *known: str) -> None:
    """Every name must be one that the command has.

    Raises:
        UsageError: names the first that is not.
    """
    for name in arguments:
        if name not in known:
            raise UsageError(str(name), "there is no such argument", f"Known: {', '.join(known)}.")


def strings(arguments: Arguments, name: str) -> tuple[str, ...]:
    """A list of texts; one text alone counts as a list of it; empty when not given.

    Raises:
        UsageError: it is something else.
    """
    value = arguments.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise UsageError(name, "it is no list of texts", "Give a list of texts.")


def string(arguments: Arguments, name: str) -> str | None:
    """One text, or None when not given.

    Raises:
        UsageError: it is something else.
    """
    value = arguments.get(name)
    if value is None or isinstance(value, str):
        return value
    raise UsageError(name, "it is no text", "Give one text.")


def whole(arguments: Arguments, name: str, default: int) -> int:
    """A whole number, or ``default`` when not given.

    Raises:
        UsageError: it is something else.
    """
    value = arguments.get(name)
    if value is None:
        return default
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise UsageError(name, "it is no whole number", "Give a whole number.")
