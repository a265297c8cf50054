"""Who works on a source: claims, and which of them are alive (spec 2.6).

A claim is one record of one run. Its ``beat`` goes up while the run lives; a claim whose beat
stands still for the length of the lease, by the clock of whoever watches, is dead. So no two
machines' clocks are ever compared, and a clock that jumps ends no lease::

    run A   claim ──beat──beat──beat──✗ killed
    run B          waits ..............│─ lease ─│ takes over
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Self

from search.ledger import known_fields

BEATS = 5
"""Signs of life in the length of a lease."""

SURE = 2 / 3
"""The share of the lease after a sign of life in which the holder still acts on it: a delete that
was begun then ends before anybody else may take over."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One run's claim on one source.

    ``owner`` is new for each run, ``host`` the same for all runs over one data folder; ``who``
    (machine and process) and ``since`` (UTC) are for people.
    """

    source: str
    owner: str
    host: str
    who: str = ""
    since: str = ""
    beat: int = 0

    @property
    def key(self) -> str:
        """Its key in the ledger."""
        return f"{self.source} {self.owner}"

    def beaten(self) -> Self:
        """The same, a sign of life later."""
        return replace(self, beat=self.beat + 1)

    def as_json(self) -> str:
        """For the ledger."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From the ledger."""
        return cls(**known_fields(cls, json.loads(text)))


@dataclass(slots=True)
class Watch:
    """What one run sees of the others' claims; ``clock`` gives seconds and never goes back.

    ``seconds`` is the lease's length (``lease_seconds``): a run that gives no sign of life for so
    long is taken for dead. A run watches only while it holds the lock of its own data folder: a
    claim of the same ``host`` is of a run that is dead.
    """

    host: str
    clock: Callable[[], float]
    seconds: float
    _seen: dict[str, tuple[int, float]] = field(default_factory=dict)

    def living(self, claims: Iterable[Claim]) -> list[Claim]:
        """Those that may be alive; one that is seen for the first time may."""
        return [each for each in claims if each.host != self.host and self._lives(each)]

    def _lives(self, claim: Claim) -> bool:
        now = self.clock()
        beat, at = self._seen.get(claim.owner, (claim.beat, now))
        if beat != claim.beat:
            at = now
        self._seen[claim.owner] = claim.beat, at
        return now - at < self.seconds
