"""What the commands of ``huginn`` share: options, the settings file, errors as exit codes."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

FAILED, USAGE = 1, 2
"""Exit codes besides 0."""

config_option = click.option(
    "--config", type=click.Path(path_type=Path), help="The settings file [default: huginn.toml]."
)
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document.")
mass_option = click.option(
    "--allow-mass-delete",
    is_flag=True,
    help="Go on even if more than half of a source would be deleted.",
)
dry_option = click.option(
    "--dry-run", is_flag=True, help="Only say what would be done; nothing is written."
)


def run(config: Path | None, command: Callable[[], int]) -> None:
    """Runs ``command`` with the settings file in force; errors become a line and an exit code."""
    from search.config_file import CONFIG_VARIABLE

    if config is not None:
        os.environ[CONFIG_VARIABLE] = str(config.absolute())
    # As Ctrl-C does: helper processes (git, go, Prefect's temporary server) end with us.
    signal.signal(signal.SIGTERM, _stop)
    with _told_errors():
        sys.exit(command())


def _stop(signal_number: int, _: object) -> None:
    raise KeyboardInterrupt(signal_number)


@contextmanager
def _told_errors() -> Iterator[None]:
    from search.errors import HuginnError, UsageError

    try:
        yield
    except UsageError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(USAGE)
    except HuginnError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        click.echo(
            "stopped: what was acknowledged is kept, the next run goes on from there", err=True
        )
        sys.exit(130)
