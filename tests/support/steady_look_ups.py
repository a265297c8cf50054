"""Look-ups one after the other while something else goes on, and what became of each."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from search import lookups
from search.engine import Engine
from search.errors import HuginnError
from search.query import query
from search.settings import Settings
from tests.support.community import Community


@dataclass
class LookUps:
    """``text`` has the words of one passage: ``nearest`` are the vector side's scores of that.

    They are all alike as long as text and passage were embedded by one model.
    """

    community: Community
    text: str
    pause: float = 0.05
    asked: int = 0
    failures: list[str] = field(default_factory=list)
    nearest: list[float] = field(default_factory=list)

    def one(self, engine: Engine, settings: Settings) -> None:
        """Asks once and notes what came."""
        self.asked += 1
        try:
            answer = engine.look_up(
                lambda reader: lookups.search(
                    query([self.text]),
                    reader=reader,
                    settings=settings,
                    embedder=engine.embedder,
                )
            )
        except HuginnError as error:
            self.failures.append(str(error))
            return
        if answer.unavailable or not answer.hits:
            self.failures.append(f"{len(answer.hits)} hits, unavailable: {answer.unavailable}")
            return
        (signal,) = answer.hits[0].signals
        self.nearest.append(signal.vector or 0.0)


@contextmanager
def looking_up(look_ups: LookUps) -> Iterator[LookUps]:
    """Asks for the length of the block, at a steady rate."""
    over = threading.Event()

    with look_ups.community.configured() as settings, Engine(settings) as engine:
        look_ups.one(engine, settings)

        def go_on() -> None:
            while not over.wait(look_ups.pause):
                look_ups.one(engine, settings)

        asking = threading.Thread(target=go_on)
        asking.start()
        try:
            yield look_ups
        finally:
            over.set()
            asking.join()
            look_ups.one(engine, settings)
