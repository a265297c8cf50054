"""``huginn refresh``."""

from pathlib import Path
from typing import Literal

import click

from flows.cli_common import config_option, dry_option, json_option, mass_option, run


@click.command()
@click.option("--corpus", type=click.Choice(["chat", "forge"]), help="Rooms or repositories only.")
@dry_option
@config_option
@mass_option
@json_option
def refresh(
    corpus: Literal["chat", "forge"] | None,
    dry_run: bool,
    config: Path | None,
    allow_mass_delete: bool,
    as_json: bool,
) -> None:
    """Bring every listed source up to date, and remove those no longer listed."""
    if dry_run:
        from flows.planning import dry_refresh

        run(config, lambda: dry_refresh(corpus=corpus, as_json=as_json))
    from flows.running import run_refresh

    run(
        config,
        lambda: run_refresh(corpus=corpus, allow_mass_delete=allow_mass_delete, as_json=as_json),
    )
