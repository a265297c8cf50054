"""When a run of another worker counts as dead, and how often it is ordered anew (spec 2.6)."""

from dataclasses import dataclass, replace

import pytest

from tasks.domain.leases import Claim
from tasks.domain.signs import START_SECONDS, Attempts, Signs

LEASE = 120.0
OWN = Claim("repo:one", "own", "its host", beat=3)
EARLIER = Claim("repo:one", "earlier", "another host")


@dataclass
class Clock:
    """A clock that the test moves."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_p14_a_run_whose_claim_stands_still_for_the_lease_is_dead(clock: Clock) -> None:
    signs = Signs.of(clock, LEASE, [])
    assert not signs.is_dead("running", [OWN])
    clock.now += LEASE
    assert not signs.is_dead("running", [OWN])
    clock.now += 1
    assert signs.is_dead("running", [OWN])


def test_a_beat_is_a_sign_of_life_however_long_the_work_takes(clock: Clock) -> None:
    signs = Signs.of(clock, LEASE, [])
    claim = OWN
    for _ in range(20):
        assert not signs.is_dead("running", [claim])
        clock.now += LEASE - 1
        claim = claim.beaten()


def test_a_run_that_starts_or_waits_for_a_dead_runs_lease_is_given_more_time(clock: Clock) -> None:
    signs = Signs.of(clock, LEASE, [EARLIER])
    assert not signs.is_dead("running", [EARLIER])
    clock.now += START_SECONDS + LEASE
    assert not signs.is_dead("running", [EARLIER])
    clock.now += 1
    assert signs.is_dead("running", [EARLIER])


def test_a_run_that_takes_over_from_a_dead_one_lives_by_its_own_claim(clock: Clock) -> None:
    signs = Signs.of(clock, LEASE, [EARLIER])
    assert not signs.is_dead("running", [EARLIER])
    clock.now += LEASE + 1
    assert not signs.is_dead("running", [OWN])
    clock.now += LEASE + 1
    assert signs.is_dead("running", [OWN])


def test_a_run_that_ends_has_time_to_say_so(clock: Clock) -> None:
    signs = Signs.of(clock, LEASE, [])
    assert not signs.is_dead("running", [OWN])
    clock.now += LEASE + 1
    assert not signs.is_dead("running", [])
    clock.now += LEASE + 1
    assert not signs.is_dead("running", [])


def test_a_change_of_state_is_a_sign_of_life(clock: Clock) -> None:
    signs = Signs.of(clock, LEASE, [])
    for state in ("pending", "submitting", "running"):
        assert not signs.is_dead(state, [])
        clock.now += START_SECONDS + LEASE


def test_time_in_which_nothing_could_be_seen_makes_nobody_dead(clock: Clock) -> None:
    signs = Signs.of(clock, LEASE, [])
    assert not signs.is_dead("running", [OWN])
    clock.now += LEASE + 1
    signs.unseen()
    assert not signs.is_dead("running", [OWN])
    clock.now += LEASE + 1
    assert signs.is_dead("running", [replace(OWN)])


def test_a_crashed_run_is_ordered_anew_so_often_and_no_more() -> None:
    attempts = Attempts(most=3)
    assert [attempts.another("repo:one") for _ in range(5)] == [True, True, True, False, False]
    assert attempts.another("repo:two")
