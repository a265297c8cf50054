"""``huginn-search``: look things up. Nothing heavy is imported before a look-up really starts."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

HIT, NONE, USAGE, UNAVAILABLE, STOPPED = 0, 1, 2, 3, 130
"""Exit codes (spec 6.5)."""


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
    "unavailable.",
)
@click.version_option(package_name="huginn", prog_name="huginn-search")
def main() -> None:
    r"""Look up what a community wrote, with exact citations.

    \b
    huginn-search "how is the signing key rotated"
    huginn-search "rotate signing key" "key rotation policy" --top-k 5
    huginn-search "cursor" --repo huginn --json
    huginn-search -- recent        (looks for the word, instead of running a command)
    """


@main.command(context_settings={"ignore_unknown_options": False})
@click.argument("texts", nargs=-1, metavar="TEXT...")
@click.option("-k", "--top-k", type=int, default=10, show_default=True, help="Hits, 1 to 100.")
@click.option("--corpus", help="Only chat, or only forge (repositories).")
@click.option("--repo", "repositories", multiple=True, metavar="NAME", help="Only this repository.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document, huginn.search/1.")
@click.option(
    "--config", type=click.Path(path_type=Path), help="The settings file [default: huginn.toml]."
)
def search(
    texts: tuple[str, ...],
    top_k: int,
    corpus: str | None,
    repositories: tuple[str, ...],
    as_json: bool,
    config: Path | None,
) -> None:
    """Passages about TEXT: give 1 to 8 wordings of one question, each in quotes.

    Every wording is asked by keyword and by meaning; the rankings are fused, so what several
    wordings find comes first.
    """
    from search.errors import HuginnError, UsageError

    try:
        code = _search(texts, top_k, corpus, repositories, as_json=as_json, config=config)
    except UsageError as error:
        _hint_to_quote(texts)
        _fail(str(error), USAGE)
    except HuginnError as error:
        _fail(str(error), UNAVAILABLE)
    except KeyboardInterrupt:
        _fail("stopped", STOPPED)
    except Exception as error:  # noqa: BLE001  # 1 would say: nothing found, and all is well
        _fail(f"{type(error).__name__}, a bug. Please report what you asked.", UNAVAILABLE)
    else:
        sys.exit(code)


def _search(
    texts: Sequence[str],
    top_k: int,
    corpus: str | None,
    repositories: Sequence[str],
    *,
    as_json: bool,
    config: Path | None,
) -> int:
    from search.query import query

    asked = query(texts, top_k=top_k, corpus=corpus, repositories=repositories)

    from search.settings import load_settings

    settings = load_settings(config)

    from search import lookups, presentation
    from search.connection import connect
    from search.embedding import Embedder
    from search.reader import Reader

    with connect(settings, "reader", _say) as client:
        answer = lookups.search(
            asked,
            reader=Reader(client, settings.weaviate.collection),
            settings=settings,
            embedder=lambda model: Embedder(
                settings.embedder.model_copy(update={"model": model}), _say
            ),
        )
    if as_json:
        click.echo(presentation.dumps(presentation.as_json(answer)))
    else:
        for line in presentation.as_text(answer):
            click.echo(line)
        _hint_to_quote(texts)
    if answer.hits:
        return HIT
    return UNAVAILABLE if answer.unavailable else NONE


def _hint_to_quote(texts: Sequence[str]) -> None:
    if len(texts) > 1 and all(len(text.split()) == 1 for text in texts):
        joined = " ".join(texts)
        click.echo(f'hint: each word was asked by itself; quote them: "{joined}"', err=True)


def _say(message: str) -> None:
    click.echo(message, err=True)


def _fail(message: str, code: int) -> None:
    click.echo(f"error: {message}", err=True)
    sys.exit(code)
