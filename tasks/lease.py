"""A lease on a source, so that runs on several machines keep out of each other's way (spec 2.6).

Weaviate has no compare-and-set. Each run writes a claim of its own and then lists them all: of two
that came at once, at least one sees the other's. Whoever sees another living claim takes its own
back and tries again after a random wait.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Self

from search.errors import HuginnError
from tasks.aim import Aim, aim
from tasks.domain.leases import BEATS, SURE, Claim, Watch
from tasks.errors import LeaseLost, SourceBusy
from tasks.ports import Ledger

CLAIM = "claim"
"""The ledger's kind of document: one run's claim."""

Opened = Callable[[], AbstractContextManager[Ledger]]

_held: "dict[tuple[Aim, str], Held]" = {}


class Held:
    """A lease that this process holds, kept alive by a thread of its own."""

    def __init__(self, opened: Opened, claim: Claim, watch: Watch) -> None:
        """``opened`` opens the ledger anew for each sign of life: servers come and go."""
        self._opened, self._claim = opened, claim
        self._clock, self._seconds = watch.clock, watch.seconds
        self._over = threading.Event()
        self._sure_until = self._clock() + SURE * self._seconds
        self._key = aim(), claim.source
        self._thread = threading.Thread(target=self._live, daemon=True, name="lease")

    def __enter__(self) -> Self:
        _held[self._key] = self
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        _held.pop(self._key, None)

    @property
    def is_sure(self) -> bool:
        """Whether nobody else can have taken over."""
        return self._clock() < self._sure_until

    def beat(self) -> None:
        """A sign of life, unless somebody took the claim away."""
        begun = self._clock()
        with self._opened() as ledger:
            if ledger.document(CLAIM, self._claim.key) is None:
                self._sure_until = begun
                self._over.set()
                return
            self._claim = self._claim.beaten()
            ledger.put_document(CLAIM, self._claim.as_json(), self._claim.key)
        if self.is_sure:  # once it may be another's it is never ours again
            self._sure_until = begun + SURE * self._seconds

    def _live(self) -> None:
        while not self._over.wait(self._seconds / BEATS):
            with suppress(HuginnError):  # the next one may get through
                self.beat()


def owned(source: str) -> None:
    """Says whether this process may delete and move the cursor now.

    Raises:
        LeaseLost: another run may be at work on the source by now.
    """
    held = _held.get((aim(), source))
    if held is None or not held.is_sure:
        raise LeaseLost(source)


def claimed(ledger: Ledger) -> set[str]:
    """The sources that a run, perhaps a dead one, has a claim on."""
    return {each.source for each in claims(ledger)}


@contextmanager
def leased(
    opened: Opened,
    claim: Claim,
    watch: Watch,
    *,
    wait: float,
    waiting: Callable[[Claim], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Holds the source for the block; ``waiting`` hears once whose claim it waits for.

    Raises:
        SourceBusy: it is another's after ``wait`` seconds.
    """
    deadline = watch.clock() + wait
    told = False
    with opened() as ledger:
        while True:
            living = watch.living(others(ledger, claim))
            if not living and _taken(ledger, claim, watch):
                break
            if living and not told:
                told = True
                waiting(living[0])
            if watch.clock() > deadline:
                raise SourceBusy(claim.source)
            sleep(random.uniform(0.2, 1.5))  # noqa: S311  # so that two do not keep meeting
        try:
            with Held(opened, claim, watch):
                yield
        finally:
            with suppress(HuginnError):  # it would end by itself
                ledger.forget_document(CLAIM, claim.key)


def _taken(ledger: Ledger, claim: Claim, watch: Watch) -> bool:
    """Claims it; False, and the claim taken back, if somebody else did at the same time."""
    ledger.put_document(CLAIM, claim.as_json(), claim.key)
    rest = others(ledger, claim)
    if watch.living(rest):
        ledger.forget_document(CLAIM, claim.key)
        return False
    for dead in rest:
        ledger.forget_document(CLAIM, dead.key)
    return True


def others(ledger: Ledger, claim: Claim) -> list[Claim]:
    """The claims of other runs on the same source."""
    return [
        each for each in claims(ledger) if each.source == claim.source and each.owner != claim.owner
    ]


def claims(ledger: Ledger) -> Iterator[Claim]:
    """All claims, of the living and the dead."""
    return map(Claim.from_json, ledger.documents(CLAIM).values())
