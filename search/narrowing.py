"""The filters as arguments of a request, the same for every look-up that takes them (spec 6.3)."""

from typing import Any

from search.arguments import Arguments, string, strings
from search.scope import Scope, scope

FILTERS = (
    *("corpus", "sources", "room", "repo", "path"),
    *("sender", "thread", "since", "until"),
)


def filters(arguments: Arguments) -> dict[str, Any]:
    """The filters among ``arguments``, as ``search.scope.scope`` takes them.

    Raises:
        UsageError: one has the wrong type.
    """
    return {
        "corpus": string(arguments, "corpus"),
        "sources": strings(arguments, "sources"),
        "rooms": strings(arguments, "room"),
        "repositories": strings(arguments, "repo"),
        "paths": strings(arguments, "path"),
        "senders": strings(arguments, "sender"),
        "threads": strings(arguments, "thread"),
        "since": string(arguments, "since"),
        "until": string(arguments, "until"),
    }


def narrowed(arguments: Arguments) -> Scope:
    """The same, checked.

    Raises:
        UsageError: names the field that is off.
    """
    return scope(**filters(arguments))
