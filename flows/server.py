"""``huginn up``, ``down`` and ``status``."""

import json
from dataclasses import asdict
from typing import Any

import click

from search import embedded, service_start
from search.errors import HuginnError, UsageError
from search.service_place import place_of
from search.settings import Settings, load_settings


def start(*, foreground: bool) -> int:
    """Starts the embedded server; in the foreground it stays until it is told to stop."""
    settings = _embedded_settings()
    if foreground:
        embedded.run_foreground(settings, _say)
        return 0
    already = embedded.running(settings)
    server = already or embedded.ensure_running(settings, _say)
    if already:
        click.echo(f"Weaviate {server.version} runs already (pid {server.pid})")
    return 0


def stop() -> int:
    """Stops the embedded server, and the look-up service that would start it again."""
    settings = _embedded_settings()
    if stop_service():
        click.echo("the look-up service has ended")
    stopped = embedded.stop(settings)
    click.echo("stopped" if stopped else "nothing to stop: no Weaviate of Huginn's own is running")
    return 0


def stop_service() -> bool:
    """Ends the look-up service; False: none ran.

    Raises:
        PermanentError: it survives.
    """
    try:
        place = place_of(None)
    except HuginnError:  # where it can have no place there is none
        return False
    return service_start.stop(place)


def status(*, as_json: bool) -> int:
    """Shows the state of the embedded server; exit code 0 if it is ready, 1 if not."""
    state = embedded.status(_embedded_settings())
    if as_json:
        since_then = state.since.isoformat() if state.since else None
        facts: dict[str, Any] = {"schema": "huginn.status/1"} | asdict(state)
        facts["since"] = since_then
        click.echo(json.dumps(facts, default=str, indent=2))
    elif state.running:
        word = "ready" if state.ready else "not ready"
        since = state.since.strftime("%Y-%m-%d %H:%M UTC") if state.since else "?"
        click.echo(f"Weaviate {state.version} is {word} (pid {state.pid}, since {since})")
        click.echo(f"http 127.0.0.1:{state.http_port}, gRPC 127.0.0.1:{state.grpc_port}")
    else:
        click.echo(f"Weaviate is not running: {state.reason}. `huginn up` starts it.")
    if not as_json:
        click.echo(f"data {state.data} ({state.size / 1e6:.1f} MB), log {state.log}")
    return 0 if state.ready else 1


def _embedded_settings() -> Settings:
    settings = load_settings()
    if settings.weaviate.url is not None:
        raise UsageError(
            "weaviate.url",
            f"{settings.weaviate.url} is somebody else's server",
            "Huginn starts and stops only its own: take weaviate.url out to use that.",
        )
    return settings


def _say(message: str) -> None:
    click.echo(message, err=True)
