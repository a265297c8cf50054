"""``huginn-search serve``: start, stop, or be the look-up service."""

from collections.abc import Callable
from pathlib import Path

from search import client, service_start
from search.errors import PermanentError
from search.service_place import place_of

Say = Callable[[str], None]


def start_service(config: Path | None, say: Say) -> None:
    """Starts it in the background unless it runs; returns once it is ready."""
    place = place_of(config)
    if service_start.is_under_service_manager():
        raise PermanentError(
            "a service manager would end what is left in the background: use --foreground."
        )
    if client.is_listening(place):
        service_start.wait_until_ready(place, say)
        say(f"the look-up service runs already (pid {client.process_of(place)})")
        return
    service_start.start(place, say)
    say(f"the look-up service is ready (pid {client.process_of(place)})")


def stop_service(config: Path | None, say: Say) -> None:
    """Ends it once look-ups in progress are finished; fine if none runs."""
    stopped = service_start.stop(place_of(config))
    say("the look-up service has ended" if stopped else "no look-up service runs")


def serve_here(config: Path | None) -> int:
    """The service in this very process, until SIGTERM or SIGINT. Its exit code."""
    from search.service import serve

    if client.is_listening(place_of(config)):
        raise PermanentError("a look-up service runs already: `huginn-search serve --stop`.")
    return serve(config, foreground=True)
