"""Which runs of other workers are dead: those that gave no sign of life for too long (spec 2.6).

Prefect leaves a run that died together with its worker ``Running`` for ever. What tells is the
source's lease: a run at work on a source lets its claim's beat go up. Before that claim and after
it (a process that starts, one that waits for another run to end) only its state tells, so that
more patience is needed. A run that no worker has taken yet is waited for::

    scheduled │ pending │ running ─────│ claim ──beat──beat──✗ killed
      waited  │   START + lease        │                     │─ lease ─│ dead
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from tasks.domain.leases import Claim

START_SECONDS = 300.0
"""So long a run may need until its claim on the source, beyond the lease of a dead run before it:
its process starts and loads the model."""


@dataclass(slots=True)
class Signs:
    """One run's signs of life, as whoever waits for it sees them.

    ``clock`` gives seconds and never goes back, ``lease`` is ``lease_seconds``, ``before`` are the
    owners of the claims on the source when the run was ordered: none of those is its own.
    """

    clock: Callable[[], float]
    lease: float
    before: frozenset[str]
    _last: Hashable = None
    _at: float = 0.0

    @classmethod
    def of(cls, clock: Callable[[], float], lease: float, claims: Iterable[Claim]) -> "Signs":
        """For a run that is ordered now; ``claims`` are those on its source."""
        return cls(clock, lease, frozenset(each.owner for each in claims))

    def is_dead(self, state: Hashable, claims: Iterable[Claim]) -> bool:
        """Whether it is, told by its state in Prefect and the claims on its source just now.

        Whatever changed since the last time counts as a sign of life. If it is dead, so are all
        those claims: none of their beats went up for the length of the lease.
        """
        beats = {each.owner: each.beat for each in claims}
        seen = (state, frozenset(beats.items()))
        if seen != self._last:
            self._last, self._at = seen, self.clock()
            return False
        at_work = bool(beats.keys() - self.before)
        patience = self.lease if at_work else START_SECONDS + self.lease
        return self.clock() - self._at > patience

    def unseen(self) -> None:
        """Nothing could be seen: the time since the last look counts for nothing."""
        self._last = None


@dataclass(slots=True)
class Attempts:
    """How often a run that crashed is ordered anew."""

    most: int = 3
    made: dict[str, int] = field(default_factory=dict)

    def another(self, source: str) -> bool:
        """Counts one more; False if there have been enough."""
        self.made[source] = self.made.get(source, 0) + 1
        return self.made[source] <= self.most
