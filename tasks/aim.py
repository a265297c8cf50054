"""Which collection a run works on: the live one, or one that a rebuild fills (spec 2.5).

A flow says it once, with names that are fit for parameters; its tasks, and the threads that
Prefect runs them in, inherit it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from search.settings import Settings


@dataclass(frozen=True, slots=True)
class Aim:
    """``collection`` is a real name, "" for whatever the alias points at.

    ``model`` is the embedder that it was made with, "" for the one of the settings.
    """

    collection: str = ""
    model: str = ""

    def applied(self, settings: Settings) -> Settings:
        """The settings with this aim's embedder."""
        if not self.model or self.model == settings.embedder.model:
            return settings
        embedder = settings.embedder.model_copy(update={"model": self.model})
        return settings.model_copy(update={"embedder": embedder})


LIVE = Aim()
"""What look-ups see, with the embedder of the settings."""

_aim: ContextVar[Aim] = ContextVar("aim", default=LIVE)


def aim() -> Aim:
    """What the work at hand is aimed at; the live collection if nobody said otherwise."""
    return _aim.get()


@contextmanager
def aimed(at: Aim) -> Iterator[None]:
    """Aims the work of the block."""
    before = _aim.set(at)
    try:
        yield
    finally:
        _aim.reset(before)
