"""``huginn verify``."""

from pathlib import Path

import click

from flows.cli_common import config_option, json_option, mass_option, run


@click.command()
@click.argument("source", required=False)
@click.option("--all", "everything", is_flag=True, help="All sources [default].")
@click.option("--repair", is_flag=True, help="Mend what differs, and verify again.")
@config_option
@mass_option
@json_option
def verify(
    source: str | None,
    everything: bool,
    repair: bool,
    config: Path | None,
    allow_mass_delete: bool,
    as_json: bool,
) -> None:
    """Compare what is held of SOURCE (NAME, repo:NAME or chat:ROOM) with what it gives now.

    All sources, unless one is named. Their passages are derived anew, and nothing is embedded or
    written. Exits with 1 if a passage is missing, too many or other than it should be, or if a
    source could not be read. What a source has that no run has taken yet is no difference.
    """
    if source and everything:
        raise click.UsageError("Give one SOURCE, or --all.")
    if allow_mass_delete and not repair:
        raise click.UsageError("Give --allow-mass-delete with --repair.")
    from flows.verifying import run_verify

    run(
        config,
        lambda: run_verify(
            source, repair=repair, allow_mass_delete=allow_mass_delete, as_json=as_json
        ),
    )
