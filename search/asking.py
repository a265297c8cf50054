"""From a command line to an answer on the screen: asks the service, or does it all here.

Imports the standard library and click only; ``--no-serve`` imports the rest when it is used.
"""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from search.config_file import look_up_seconds
from search.errors import HuginnError, TransientError, UsageError
from search.presentation import dumps, printable
from search.render_commands import as_text, items
from search.requests import STOPPED, UNAVAILABLE, USAGE, check
from search.terminal import Document, Look

MODEL_SECONDS = 60
"""What ``--no-serve`` grants for loading the model, over and above the time of a look-up."""

OUTPUT = ("as_json", "as_jsonl", "timeout", "no_serve", "no_pager", "config")


def look_up(command: str, options: Mapping[str, Any]) -> NoReturn:
    """Answers ``command`` and ends the process with the exit code of spec 6.5.

    ``options`` are click's: those of ``OUTPUT``, and the arguments of the look-up; what was not
    given (None, an empty list) is left out of the request.
    """
    arguments = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in options.items()
        if name not in OUTPUT and value not in (None, ())
    }
    with reported():
        document = _answer(command, arguments, options)
        _show(document, options)
        sys.exit(document["exit"])


@contextmanager
def reported() -> Iterator[None]:
    """Errors as one line on standard error, and their exit codes."""
    try:
        yield
    except UsageError as error:
        _fail(str(error), USAGE)
    except HuginnError as error:
        _fail(str(error), UNAVAILABLE)
    except KeyboardInterrupt:
        _fail("stopped", STOPPED)
    except BrokenPipeError:
        raise  # click's: whoever read the output has read enough
    except Exception as error:  # noqa: BLE001  # 1 would say: nothing found, and all is well
        _fail(f"{type(error).__name__}, a bug. Please report what you asked.", UNAVAILABLE)


def say(message: str) -> None:
    """A note on standard error."""
    click.echo(printable(message, keep="\n"), err=True)


def _answer(command: str, arguments: Mapping[str, Any], options: Mapping[str, Any]) -> Document:
    if options["as_json"] and options["as_jsonl"]:
        raise UsageError("json", "--json and --jsonl are given", "Give one of them.")
    check(command, arguments)
    config: Path | None = options["config"]
    seconds = options["timeout"] or look_up_seconds(config)
    if not options["no_serve"]:
        from search import client

        if client.can_serve(config):
            return client.ask(command, arguments, config=config, seconds=seconds, say=say)
    return _here(command, arguments, config, seconds)


def _here(
    command: str, arguments: Mapping[str, Any], config: Path | None, seconds: float
) -> Document:
    """The same without a service."""
    from search.engine import Engine
    from search.requests import answer
    from search.settings import load_settings

    with Engine(load_settings(config), say) as engine:
        engine.look_up(lambda reader: reader)  # a server that has to be started takes its own time
        with _within(seconds):
            return answer(command, arguments, engine)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def over(_number: int, _frame: FrameType | None) -> None:
        raise TransientError(
            f"no answer within {seconds:g} s. Ask again, or give --timeout more seconds."
        )

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds + MODEL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _show(document: Document, options: Mapping[str, Any]) -> None:
    if options["as_json"]:
        click.echo(dumps(document))
    elif options["as_jsonl"]:
        head = {"schema": document["schema"], "command": document["command"]}
        for item in items(document):
            click.echo(dumps({**head, **item}, indent=None))
        for missing in document.get("unavailable", ()):
            say(f"unavailable: {missing['source']}: {missing['reason']}")
    else:
        _show_people(document, can_page=not options["no_pager"])


def _show_people(document: Document, *, can_page: bool) -> None:
    terminal = sys.stdout.isatty()
    if not terminal:
        for line in as_text(document, Look()):
            click.echo(line)
        return
    size = os.get_terminal_size(sys.stdout.fileno())
    width = min(size.columns or 80, 120)
    styled = not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "", None)
    lines = [*as_text(document, Look(width, styled, styled))]
    if can_page and len(lines) >= (size.lines or 24):
        lines = [*as_text(document, Look(width, styled))]  # not every pager knows links
        click.echo_via_pager("\n".join(lines) + "\n", color=styled)
        return
    for line in lines:
        click.echo(line)


def _fail(message: str, code: int) -> NoReturn:
    say(f"error: {message}")
    sys.exit(code)
