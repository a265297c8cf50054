"""One chain of kills: each falls into the recovery from the one before."""

import random
from dataclasses import dataclass, field
from typing import Any

from tests.support.kill_scene import LONGEST, Scene
from tests.support.strikes import Strike

_TRIES = 20


@dataclass
class Chain:
    """What became of one; ``wrong`` tells what did not hold, and is empty if all did.

    ``kills`` are those of the row that was whole; ``spare`` those of rows that a run ended by
    getting through before the next kill; ``checks`` is how often no cursor was ahead.
    """

    seed: int
    kills: list[dict[str, Any]] = field(default_factory=list)
    spare: int = 0
    checks: int = 0
    passages: int = 0
    wrong: list[str] = field(default_factory=list)


def chain(at: Scene, seed: int, kills: int) -> Chain:
    """News, a row of ``kills`` kills with no whole run between them, and a run that goes through.

    A run that Weaviate was taken from goes on: it is itself the recovery that the next kill falls
    into. When a run was killed, the next one is. Before each next run no cursor may be ahead.
    """
    rng = random.Random(seed)  # noqa: S311  # a seed makes the choices again
    told = Chain(seed)
    for _ in range(_TRIES):
        at.news(rng, 40)
        told.spare += len(told.kills)
        told.kills = []
        if _row(at, rng, kills, told):
            break
    else:
        told.wrong.append(f"no row of {kills} kills came about")
    _compare(at, rng, told)
    return told


def _row(at: Scene, rng: random.Random, kills: int, told: Chain) -> bool:
    """Whether all kills struck before any run got through."""
    while True:
        planned = [_strike(rng) for _ in range(kills - len(told.kills))]
        run = at.forks.start("refresh", config=at.own.config(), strikes=planned)
        if not run.wait(LONGEST):
            told.wrong.append(f"after kill {len(told.kills)}: a run did not end")
            return True
        told.kills += [each for each in run.told() if "what" in each]
        if run.code == 0:
            return len(told.kills) == kills
        ahead = at.ahead()
        told.checks += 1
        if ahead:
            told.wrong.append(f"after kill {len(told.kills)}: cursors ahead: {ahead}")
        if len(told.kills) == kills:
            return True
        if rng.random() < 0.4:
            at.news(rng, 10)


def _strike(rng: random.Random) -> Strike:
    """At a write or a little after one, so that requests and work between them are hit too."""
    later = rng.choice((0.0, rng.uniform(0, 0.02), rng.uniform(0, 0.5)))
    return Strike(rng.choice(("run", "weaviate", "both")), rng.randint(3, 60), round(later, 4))


def _compare(at: Scene, rng: random.Random, told: Chain) -> None:
    """A last run, and the same sources read by one clean run into another collection."""
    code = at.run("refresh")
    if code != 0:
        told.wrong.append(f"the last run ended with {code}")
    with at.clean(f"Clean{told.seed}x{rng.randrange(10**6)}") as clean:
        code = at.run("refresh", of=clean)
        passages, expected = at.stored(at.own), at.stored(clean)
    if code != 0:
        told.wrong.append(f"the clean run ended with {code}")
    if passages != expected:
        odd = {key for key in passages.keys() | expected if passages.get(key) != expected.get(key)}
        told.wrong.append(f"{len(odd)} of {len(expected)} passages differ: {sorted(odd)[:5]}")
    code = at.run("verify")
    if code != 0:
        told.wrong.append(f"verify ended with {code}")
    told.passages = len(expected)
