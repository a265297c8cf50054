"""How long work tells that it goes on. The command line listens; elsewhere nobody does.

Prefect runs tasks in threads, so the listener is one per process and must be thread-safe.
"""

from typing import Protocol


class Listener(Protocol):
    """Hears of long work; must return quickly and never raise."""

    def say(self, message: str) -> None:
        """Something long starts, or something needs to be known."""

    def expect(self, source: str, total: int | None) -> None:
        """A source has work to go through in this run, in bytes or whatever takes time alike.

        None: how much there is cannot be known, as with a room's events.
        """

    def advance(self, source: str, done: float) -> None:
        """``done`` more of that is behind it."""


class Silence:
    """Nobody listens."""

    def say(self, message: str) -> None:
        """Dropped."""

    def expect(self, source: str, total: int | None) -> None:
        """Dropped."""

    def advance(self, source: str, done: float) -> None:
        """Dropped."""


_listeners: list[Listener] = [Silence()]


def listen(listener: Listener) -> None:
    """From now on ``listener`` hears of the work of this process."""
    _listeners[:] = [listener]


def listener() -> Listener:
    """Who listens now."""
    return _listeners[0]
