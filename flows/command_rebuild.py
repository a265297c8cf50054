"""``huginn rebuild``."""

from pathlib import Path

import click

from flows.cli_common import config_option, json_option, mass_option, run


@click.command()
@click.option("--erase", is_flag=True, help="Take nothing over from the old collection.")
@click.option("--cancel", is_flag=True, help="Give up a rebuild that stands.")
@config_option
@mass_option
@json_option
def rebuild(
    erase: bool, cancel: bool, config: Path | None, allow_mass_delete: bool, as_json: bool
) -> None:
    """Read everything anew into another collection, which then takes the old one's place.

    Look-ups go on meanwhile. A change of the model or an upgrade makes `huginn refresh` do so by
    itself. Stopped in the middle, the next `huginn refresh` goes on with it.

    With --erase the files that may still hold deleted text end with the old collection.
    """
    from flows.running import run_cancel, run_rebuild

    if cancel and (erase or allow_mass_delete):
        raise click.UsageError("Give --cancel alone.")
    if cancel:
        run(config, run_cancel)
    run(
        config,
        lambda: run_rebuild(erase=erase, allow_mass_delete=allow_mass_delete, as_json=as_json),
    )
