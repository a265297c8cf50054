"""Options that several look-ups share, each written once."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_FILTERS: dict[str, Callable[[Any], Any]] = {
    "corpus": click.option("--corpus", metavar="NAME", help="Only chat, or only forge."),
    "repo": click.option("--repo", multiple=True, metavar="NAME", help="Only this repository."),
    "room": click.option(
        "--room", multiple=True, metavar="ROOM", help="Only this room: id, alias or label."
    ),
    "sources": click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="SOURCE",
        help="Only this source: chat, forge, or one id.",
    ),
    "path": click.option("--path", multiple=True, metavar="GLOB", help="Only files like this."),
    "sender": click.option(
        "--sender", multiple=True, metavar="USER", help="Only where this user wrote."
    ),
    "thread": click.option(
        "--thread", multiple=True, metavar="EVENT", help="Only this thread, by its root."
    ),
    "since": click.option("--since", metavar="TIME", help="From then on: 2026-01-31, or 2w, 3d."),
    "until": click.option("--until", metavar="TIME", help="Up to then."),
}
FILTERS = tuple(_FILTERS)

_COMMON = (
    click.option("--json", "as_json", is_flag=True, help="One JSON document, huginn.search/1."),
    click.option("--jsonl", "as_jsonl", is_flag=True, help="One line of JSON for each result."),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Give up after so long [default: search.timeout, 10].",
    ),
    click.option(
        "--no-serve", is_flag=True, help="Do it all in this process, without the service."
    ),
    click.option("--no-pager", is_flag=True, help="Never page."),
)
_CONFIG = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The settings file [default: huginn.toml].",
)


def filters(*names: str) -> Callable[[F], F]:
    """The options that narrow a look-up; all of them, or those named."""
    return lambda function: _all(function, [_FILTERS[name] for name in names or FILTERS])


def common(function: F) -> F:
    """The options of every look-up."""
    return _all(function, [*_COMMON, _CONFIG])


def config(function: F) -> F:
    """``--config`` alone."""
    return _all(function, [_CONFIG])


def _all(function: F, options: Iterable[Callable[[Any], Any]]) -> F:
    for option in reversed([*options]):
        function = option(function)
    return function
