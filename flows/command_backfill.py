"""``huginn backfill``."""

from pathlib import Path

import click

from flows.cli_common import config_option, dry_option, json_option, mass_option, run


@click.command()
@click.argument("source", required=False)
@click.option("--all", "everything", is_flag=True, help="All listed sources.")
@click.option("--from", "since", metavar="TIME", help="RFC 3339, a date, or 2w, 3d ago; included.")
@click.option("--to", "until", metavar="TIME", help="The same forms; included.")
@dry_option
@config_option
@mass_option
@json_option
def backfill(
    source: str | None,
    everything: bool,
    since: str | None,
    until: str | None,
    dry_run: bool,
    config: Path | None,
    allow_mass_delete: bool,
    as_json: bool,
) -> None:
    """Go through SOURCE (NAME, repo:NAME or chat:ROOM) from the start, whatever its cursor says.

    With --from or --to only that time is put right, and no cursor moves: of a room its messages,
    of a repository its commit messages (files have no time, and are left alone). A room that was
    never read is then read back to --from only.

    What is stored already and right is left alone; no text is embedded twice.
    """
    if bool(source) == everything:
        raise click.UsageError("Give one SOURCE, or --all.")
    from flows.running import run_backfill

    run(
        config,
        lambda: run_backfill(
            source,
            since=since,
            until=until,
            dry_run=dry_run,
            allow_mass_delete=allow_mass_delete,
            as_json=as_json,
        ),
    )
