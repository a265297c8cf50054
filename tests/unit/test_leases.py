"""Leases on sources between machines (spec 2.6): real threads, a clock of the test's own."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.errors import ServerUnavailable
from search.locking import locked
from search.settings import Settings
from tasks.alone import _host
from tasks.domain.leases import Claim, Watch
from tasks.errors import LeaseLost, SourceBusy
from tasks.lease import CLAIM, Held, leased, others, owned
from tasks.locks import idle, lock_of
from tasks.ports import Ledger
from tests.support.fakes import FakeLedger

SOURCE = "repo:one"
SECONDS = 30.0


class Clock:
    """Seconds that pass when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Machine:
    """Runs on one machine over one ledger."""

    def __init__(self, ledger: FakeLedger, name: str, clock: Clock) -> None:
        self.ledger, self.name, self.clock = ledger, name, clock
        self.waited: list[str] = []
        self.away = False
        self.runs = 0

    @contextmanager
    def opened(self) -> Iterator[Ledger]:
        if self.away:
            raise ServerUnavailable("gone")
        yield self.ledger

    def claim(self, source: str = SOURCE) -> Claim:
        self.runs += 1
        return Claim(source, f"{self.name}{self.runs}", self.name, who=self.name)

    def watch(self) -> Watch:
        return Watch(self.name, self.clock, SECONDS)

    @contextmanager
    def hold(self, *, wait: float = 0.0, source: str = SOURCE) -> Iterator[None]:
        with leased(
            self.opened,
            self.claim(source),
            self.watch(),
            wait=wait,
            waiting=lambda claim: self.waited.append(claim.who),
            sleep=self.clock.sleep,
        ):
            yield


@pytest.fixture
def ledger() -> FakeLedger:
    return FakeLedger()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def one(ledger: FakeLedger, clock: Clock) -> Machine:
    return Machine(ledger, "one", clock)


@pytest.fixture
def two(ledger: FakeLedger, clock: Clock) -> Machine:
    return Machine(ledger, "two", clock)


def test_a_source_is_owned_inside_the_block_and_nothing_is_left_after_it(
    one: Machine, ledger: FakeLedger
) -> None:
    with pytest.raises(LeaseLost):
        owned(SOURCE)
    with one.hold():
        owned(SOURCE)
        with pytest.raises(LeaseLost):
            owned("repo:two")
    with pytest.raises(LeaseLost):
        owned(SOURCE)
    assert ledger.kept == {}


def test_a_later_run_says_whose_claim_it_waits_for_and_gives_up_in_the_end(
    one: Machine, two: Machine, ledger: FakeLedger
) -> None:
    with one.hold(), pytest.raises(SourceBusy), two.hold(wait=SECONDS / 2):
        raise AssertionError("both hold it")
    assert two.waited == ["one"]
    assert ledger.kept == {}


def test_another_source_is_not_waited_for(one: Machine, two: Machine) -> None:
    with one.hold(), two.hold(source="repo:two"):
        assert two.waited == []


def test_a_killed_runs_source_is_taken_over_after_the_lease_and_not_before(
    one: Machine, two: Machine, ledger: FakeLedger, clock: Clock
) -> None:
    dead = one.claim()
    ledger.put_document(CLAIM, dead.as_json(), dead.key)
    begun = clock.now
    with two.hold(wait=10 * SECONDS):
        assert SECONDS <= clock.now - begun < SECONDS + 2
        assert others(ledger, two.claim()) != [dead]
        assert len(ledger.kept) == 1


def test_a_living_runs_source_is_waited_for_however_long_it_takes(
    one: Machine, two: Machine, ledger: FakeLedger
) -> None:
    claim = one.claim()
    ledger.put_document(CLAIM, claim.as_json(), claim.key)

    class Beating(Clock):
        def sleep(self, seconds: float) -> None:
            nonlocal claim
            super().sleep(seconds)
            claim = claim.beaten()
            ledger.put_document(CLAIM, claim.as_json(), claim.key)

    two.clock = Beating()
    with pytest.raises(SourceBusy), two.hold(wait=5 * SECONDS):
        raise AssertionError("both hold it")


def test_a_dead_run_of_the_same_data_folder_is_not_waited_for(
    one: Machine, ledger: FakeLedger, clock: Clock
) -> None:
    dead = one.claim()
    ledger.put_document(CLAIM, dead.as_json(), dead.key)
    begun = clock.now
    with one.hold():
        assert clock.now == begun
        assert len(ledger.kept) == 1


def test_of_two_that_claim_at_once_never_both_hold(clock: Clock) -> None:
    class Meeting(FakeLedger):
        """Whoever looks for the first time after a claim finds another that came at once."""

        met = False

        def put_document(self, kind: str, payload: str, key: str = "") -> None:
            super().put_document(kind, payload, key)
            if not self.met:
                self.met = True
                rival = Claim(SOURCE, "rival", "elsewhere", who="rival")
                super().put_document(CLAIM, rival.as_json(), rival.key)

    ledger = Meeting()
    machine = Machine(ledger, "one", clock)
    with pytest.raises(SourceBusy), machine.hold(wait=SECONDS / 2):
        raise AssertionError("both hold it")
    assert [Claim.from_json(each).owner for each in ledger.kept.values()] == ["rival"]


def test_a_run_out_of_touch_is_sure_of_nothing_before_another_may_take_over(
    one: Machine, clock: Clock
) -> None:
    held = Held(one.opened, one.claim(), one.watch())
    one.ledger.put_document(CLAIM, held._claim.as_json(), held._claim.key)
    one.away = True
    with pytest.raises(ServerUnavailable):
        held.beat()
    clock.sleep(SECONDS * 0.7)
    assert not held.is_sure
    one.away = False
    held.beat()
    assert not held.is_sure


def test_a_sign_of_life_keeps_the_lease_and_a_claim_taken_away_ends_it(
    one: Machine, clock: Clock, ledger: FakeLedger
) -> None:
    held = Held(one.opened, one.claim(), one.watch())
    ledger.put_document(CLAIM, held._claim.as_json(), held._claim.key)
    for _ in range(20):
        clock.sleep(SECONDS / 2)
        held.beat()
        assert held.is_sure
    ledger.kept.clear()
    held.beat()
    assert not held.is_sure
    assert ledger.kept == {}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.floats(0, 20)), max_size=30))
def test_no_claim_is_dead_before_it_stood_still_for_the_lease(
    seen: list[tuple[str, int, float]],
) -> None:
    clock = Clock()
    watch = Watch("here", clock, SECONDS)
    since: dict[str, tuple[int, float]] = {}
    for owner, beat, pause in seen:
        clock.sleep(pause)
        if since.get(owner, (None, 0.0))[0] != beat:
            since[owner] = beat, clock.now
        lives = watch.living([Claim(SOURCE, owner, "there", beat=beat)])
        assert bool(lives) == (clock.now - since[owner][1] < SECONDS)


def test_many_runs_at_once_hold_it_one_after_the_other(ledger: FakeLedger) -> None:
    inside, most, done = 0, 0, 0
    lock = threading.Lock()
    real = threading.Event()

    def run(name: str) -> None:
        nonlocal inside, most, done
        machine = Machine(ledger, name, Clock())
        claim = machine.claim()
        watch = Watch(name, time.monotonic, SECONDS)
        with leased(
            machine.opened,
            claim,
            watch,
            wait=60,
            waiting=lambda _: None,
            sleep=lambda seconds: real.wait(seconds / 50) and None,
        ):
            with lock:
                inside += 1
                most = max(most, inside)
            real.wait(0.01)
            with lock:
                inside -= 1
                done += 1

    threads = [threading.Thread(target=run, args=(f"m{number}",)) for number in range(8)]
    with ExitStack() as stack:
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
    assert (most, done) == (1, 8)


def test_a_source_is_idle_while_no_run_of_this_machine_holds_its_lock(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, cache_dir=tmp_path)
    with idle(settings, SOURCE) as first:
        assert first
        with idle(settings, SOURCE) as second, idle(settings, "repo:two") as other:
            assert (second, other) == (False, True)
    with locked(lock_of(settings, SOURCE)), idle(settings, SOURCE) as third:
        assert not third


def test_the_id_of_a_data_folder_is_made_once_and_whole(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(8) as pool:
        found = {*pool.map(_host, [folders[0]] * 40)}
    assert len(found) == 1
    assert len(found.pop()) == 32
    assert _host(folders[1]) != _host(folders[0])
    assert [each.name for each in folders[0].iterdir()] == ["host"]
