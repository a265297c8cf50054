"""``huginn-search``: look things up. Loads the standard library and click only (spec 6.8)."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from search.cli_options import common, config, filters


class _SearchByDefault(click.Group):
    """``huginn-search "words"`` is short for ``huginn-search search "words"`` (spec 6.7)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {*self.commands, "--help", "-h", "--version"}
        if (args and args[0] == "--") or (args and args[0] not in known):
            args = ["search", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_SearchByDefault,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 found, 1 nothing found, 2 usage, 3 nothing found and a source is "
    "unavailable, or no answer in time.",
)
@click.version_option(package_name="huginn", prog_name="huginn-search")
def main() -> None:
    """Look up what a community wrote, with exact citations.

    \b
    huginn-search "how is the signing key rotated"
    huginn-search "rotate signing key" "key rotation policy" --top-k 5
    huginn-search "cursor" --repo huginn --json
    huginn-search -- recent        (looks for the word, instead of running a command)
    """  # noqa: D301  # click keeps the lines after a \b


@main.command()
@click.argument("texts", nargs=-1, metavar="TEXT...")
@click.option("-k", "--top-k", type=int, metavar="N", help="Hits, 1 to 100 [default: 10].")
@click.option("--sort", metavar="ORDER", help="Order of the hits: score, or time (newest first).")
@click.option(
    "--recency-half-life", metavar="SPAN", help="Let a hit so old count half: 30d. Off by default."
)
@filters()
@common
def search(**options: Any) -> None:
    """Passages about TEXT: give 1 to 8 wordings of one question, each in quotes.

    Every wording is asked by keyword and by meaning; the rankings are fused, so what several
    wordings find comes first.
    """
    from search.asking import look_up

    _hint_to_quote(options["texts"])
    look_up("search", options)


@main.command()
@click.option("-n", "--limit", type=int, metavar="N", help="How many [default: 20].")
@filters("corpus", "sources", "room", "repo", "sender", "thread", "since", "until")
@common
def recent(**options: Any) -> None:
    """The last messages and commits, newest first."""
    from search.asking import look_up

    look_up("recent", options)


@main.command()
@click.argument("id", metavar="EVENT")
@click.option("--gap", metavar="SPAN", help="The longest pause in a conversation [default: 1h].")
@click.option("-n", "--limit", type=int, metavar="N", help="Messages at most [default: 200].")
@common
def thread(**options: Any) -> None:
    """A whole thread in order, or the conversation around EVENT if it is in no thread.

    EVENT is a thread's root or any message ($…), or the id of a hit.
    """
    from search.asking import look_up

    look_up("thread", options)


@main.command()
@click.option("-n", "--count", type=int, metavar="N", help="How many [default: as fits].")
@filters()
@common
def themes(**options: Any) -> None:
    """What the filters select, in groups: each with its words, size, span and typical passages."""
    from search.asking import look_up

    look_up("themes", options)


@main.command()
@click.argument("id", metavar="ID")
@click.option("--neighbours", type=int, metavar="N", help="How many before and after [default: 1].")
@common
def get(**options: Any) -> None:
    """One passage in full, with what stands before and after it; ID is that of a hit."""
    from search.asking import look_up

    look_up("get", options)


@main.command()
@filters("corpus", "sources", "room", "repo")
@common
def sources(**options: Any) -> None:
    """What there is to look things up in, and how fresh it is."""
    from search.asking import look_up

    look_up("sources", options)


@main.command()
@common
def doctor(**options: Any) -> None:
    """What is wrong, if anything: sources, model, collection, servers, and what to do."""
    from search.asking import look_up

    look_up("doctor", options)


@main.command()
@click.option("--foreground", is_flag=True, help="Stay in the foreground, for service managers.")
@click.option("--stop", is_flag=True, help="Stop the service; look-ups in progress are finished.")
@click.option("--http", is_flag=True, help="Answer programs over HTTP too, on the loopback only.")
@click.option("--port", type=int, metavar="N", help="Port of --http [default: 7414; 0: any].")
@config
def serve(
    *, foreground: bool, stop: bool, http: bool, port: int | None, config: Path | None
) -> None:
    """Start the look-up service, which keeps the model warm. Look-ups start it by themselves."""
    from search.asking import reported, say

    with reported():
        if http:
            from importlib import import_module

            sys.exit(import_module("search.http").main(config, port))
        from search.service_commands import serve_here, start_service, stop_service

        if stop:
            stop_service(config, say)
        elif foreground:
            sys.exit(serve_here(config))
        else:
            start_service(config, say)


@main.command()
@config
def mcp(config: Path | None) -> None:
    """Serve the look-ups to agents over standard input and output (Model Context Protocol)."""
    from search.asking import reported

    with reported():
        from search import mcp_server

        sys.exit(mcp_server.main(config))


@main.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands and options in SHELL.

    \b
    eval "$(huginn-search completion bash)"
    """  # noqa: D301  # click keeps the lines after a \b
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(main, {}, "huginn-search", "_HUGINN_SEARCH_COMPLETE").source())


def _hint_to_quote(texts: Sequence[str]) -> None:
    if len(texts) > 1 and all(len(text.split()) == 1 for text in texts):
        joined = " ".join(texts)
        click.echo(f'hint: each word was asked by itself; quote them: "{joined}"', err=True)
