"""``huginn uninstall``."""

from pathlib import Path

import click

from flows.cli_common import config_option, json_option, run


@click.command()
@click.option("--data", is_flag=True, help="Also what was ingested, keys and purges.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@config_option
@json_option
def uninstall(data: bool, yes: bool, config: Path | None, as_json: bool) -> None:
    """Stop what runs and remove what Huginn put on this machine.

    That is the cache: Weaviate's program and the mirrors of repositories. What was ingested stays
    unless --data is given. Says what stays.
    """
    from flows.uninstalling import uninstall as remove

    run(config, lambda: remove(data=data, yes=yes, as_json=as_json))
