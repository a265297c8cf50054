"""``huginn``: the operator's command."""

from pathlib import Path
from typing import Any

import click

from flows.cli_common import config_option, json_option, run
from flows.command_backfill import backfill
from flows.command_rebuild import rebuild
from flows.command_refresh import refresh
from flows.command_uninstall import uninstall
from flows.command_verify import verify


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="huginn", prog_name="huginn")
def main() -> None:
    """Keep a community's rooms and repositories searchable.

    \b
    huginn refresh              bring everything that is listed up to date
    huginn sources add NAME URL list one more repository
    huginn-search "words"       look things up

    Without any settings the one source is the repository you stand in.
    """  # noqa: D301  # click keeps the lines after a \b


main.add_command(refresh)
main.add_command(backfill)


@main.group()
def sources() -> None:
    """List, add and remove the sources in the settings file."""


@sources.command("list")
@config_option
@json_option
def sources_list(config: Path | None, as_json: bool) -> None:
    """Show what is listed, and what the collection holds of it."""
    from flows.listing import show

    run(config, lambda: show(as_json=as_json))


@sources.command("add")
@click.argument("name")
@click.argument("address")
@click.option("--branch", help="Follow this branch instead of the default one.")
@click.option("--include", multiple=True, metavar="GLOB", help="Take only these paths.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave these paths out.")
@click.option("--label", help="A name for people.")
@config_option
def sources_add(
    name: str,
    address: str,
    branch: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    label: str | None,
    config: Path | None,
) -> None:
    """List the repository at ADDRESS (a URL or a folder) under NAME."""
    from flows.listing import add

    entry = {
        "name": name,
        "url": address,
        "branch": branch,
        "include": list(include),
        "exclude": list(exclude),
        "label": label,
    }
    given = {key: value for key, value in entry.items() if value or key in ("name", "url")}
    run(config, lambda: add(given))


@sources.command("remove")
@click.argument("name")
@config_option
def sources_remove(name: str, config: Path | None) -> None:
    """No longer list NAME: hidden from look-ups at once, removed by the next `huginn refresh`."""
    from flows.listing import remove

    run(config, lambda: remove(name.removeprefix("repo:")))


@main.group("chat-purge", invoke_without_command=True)
@click.option("--room", metavar="ROOM", help="The room's id, or the alias of one that is held.")
@click.option("--from", "first", metavar="TIME", help="RFC 3339, included.")
@click.option("--to", "last", metavar="TIME", help="RFC 3339, included.")
@click.option("--sender", metavar="MXID", help="Only what this user wrote.")
@click.option("--event", metavar="EVENT", help="Only this message, whenever it was.")
@click.option("--everything", is_flag=True, help="Without bounds, also what will be said.")
@click.option("--now", is_flag=True, help="Delete at once, not at the next refresh.")
@click.option("--yes", is_flag=True, help="Do not ask before --everything.")
@config_option
@click.pass_context
def chat_purge(
    ctx: click.Context,
    /,
    config: Path | None,
    now: bool,
    yes: bool,
    **options: Any,
) -> None:
    """Say which messages of a room must never be held, whatever the homeserver shows.

    The next refresh deletes them and none takes them in again. It needs no token.
    """
    if ctx.invoked_subcommand is not None:
        if any((now, yes, config, *options.values())):
            raise click.UsageError(f"Give options after {ctx.invoked_subcommand}.")
        return
    if options["room"] is None:
        raise click.UsageError("Give --room, or one of the commands list and remove.")
    from flows.purging import purge

    run(config, lambda: purge(options, now=now, yes=yes))


@chat_purge.command("list")
@config_option
@json_option
def chat_purge_list(config: Path | None, as_json: bool) -> None:
    """Show every purge that is in force."""
    from flows.purging import show

    run(config, lambda: show(as_json=as_json))


@chat_purge.command("remove")
@click.argument("id", metavar="ID")
@config_option
def chat_purge_remove(id: str, config: Path | None) -> None:  # noqa: A002  # click's argument
    """Take a purge back: the next refresh may bring back what it covered."""
    from flows.purging import remove

    run(config, lambda: remove(id))


@main.group(invoke_without_command=True)
@click.pass_context
@config_option
@json_option
def doctor(context: click.Context, config: Path | None, as_json: bool) -> None:
    """Say what is wrong, if anything, and what to do.

    Alone: the server, the collection, the model and each source, as `huginn-search doctor`.
    """
    if context.invoked_subcommand is None:
        from search.asking import look_up

        output = {"as_jsonl": False, "timeout": None, "no_serve": True, "no_pager": False}
        look_up("doctor", {"as_json": as_json, "config": config, **output})
    if as_json or config is not None:
        raise click.UsageError(f"Give the options after {context.invoked_subcommand}.")


@doctor.command("matrix")
@config_option
@json_option
def doctor_matrix(config: Path | None, as_json: bool) -> None:
    """Tell how to make the reader, what it may see, and why a room is not read.

    Asks the homeserver by GET only, and writes nothing anywhere.
    """
    from flows.doctor import matrix

    run(config, lambda: matrix(as_json=as_json))


@main.command()
@click.option("--foreground", is_flag=True, help="Stay in the foreground, for service managers.")
@config_option
def up(foreground: bool, config: Path | None) -> None:
    """Start Huginn's own Weaviate. It stays up between commands."""
    from flows.server import start

    run(config, lambda: start(foreground=foreground))


@main.command()
@config_option
def down(config: Path | None) -> None:
    """Stop Huginn's own Weaviate, and the look-up service."""
    from flows.server import stop

    run(config, stop)


@main.command()
@config_option
@json_option
def status(config: Path | None, as_json: bool) -> None:
    """Tell whether Huginn's own Weaviate runs, and where its data is."""
    from flows.server import status as show

    run(config, lambda: show(as_json=as_json))


main.add_command(rebuild)
main.add_command(uninstall)
main.add_command(verify)
