"""Runs on two machines over one Weaviate: a lease keeps them apart (spec 2.6)."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from search.ledger import SourceRecord
from tasks.alone import alone
from tasks.bootstrap import open_store
from tasks.domain.leases import Claim
from tasks.errors import LeaseLost
from tasks.lease import CLAIM, owned
from tests.support.community import Community

_OTHER_MACHINE = """
import sys, time
from tasks.alone import alone
with alone(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def held_elsewhere(
    community: Community, folder: Path, source: str
) -> Iterator[subprocess.Popen[str]]:
    """A run of another machine, which has a data folder of its own, holds ``source``."""
    elsewhere = Community(folder, community.server, community.collection)
    elsewhere.repositories, elsewhere.options = community.repositories, community.options
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", _OTHER_MACHINE, source],
        env={**os.environ, "HUGINN_CONFIG": str(elsewhere.config())},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def claims(community: Community) -> list[Claim]:
    with community.configured() as settings, open_store(settings) as store:
        return [Claim.from_json(each) for each in store.ledger.documents(CLAIM).values()]


@pytest.fixture
def listed(community: Community, monkeypatch: pytest.MonkeyPatch) -> Community:
    monkeypatch.setenv("HUGINN_LEASE_SECONDS", "8")
    community.repository("one").commit({"a.md": "Words of one.\n"})
    community.refresh()
    return community


def test_a_killed_machines_source_is_taken_over_when_its_lease_ends(
    listed: Community, tmp_path: Path
) -> None:
    listed.repositories["one"].commit({"a.md": "Other words.\n"})
    with held_elsewhere(listed, tmp_path / "elsewhere", "repo:one") as other:
        (claim,) = claims(listed)
        assert claim.source == "repo:one"
        assert f"process {other.pid}" in claim.who
        other.kill()
        other.wait()
        assert listed.refresh()["repo:one"].result == "done"
    assert "Other words." in "".join(listed.texts())
    assert claims(listed) == []


def test_a_living_machines_source_is_left_to_it(listed: Community, tmp_path: Path) -> None:
    listed.repositories["one"].commit({"a.md": "Other words.\n"})
    with (
        held_elsewhere(listed, tmp_path / "elsewhere", "repo:one"),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("tasks.alone.WAIT_SECONDS", 20.0)  # longer than the lease
        outcome = listed.refresh()["repo:one"]
    assert outcome.result == "failed"
    assert "another run is still at work on it" in (outcome.reason or "")
    record = listed.record("repo:one")
    assert record is not None
    assert record.state == "current"  # the other run's to say
    assert listed.refresh()["repo:one"].result == "done"


def test_a_run_whose_lease_is_gone_deletes_nothing_and_moves_no_cursor(listed: Community) -> None:
    def lost(_: str) -> None:
        raise LeaseLost("repo:one")

    before = listed.record("repo:one")
    listed.repositories["one"].commit({"a.md": "Other words.\n"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.bootstrap.owned", lost)
        outcome = listed.refresh()["repo:one"]
    assert outcome.result == "failed"
    assert "out of touch" in (outcome.reason or "")
    after = listed.record("repo:one")
    assert isinstance(before, SourceRecord)
    assert isinstance(after, SourceRecord)
    assert after.cursor.commit == before.cursor.commit
    assert "Words of one." in "".join(listed.texts())
    assert listed.refresh()["repo:one"].result == "done"


def test_the_lease_is_kept_for_longer_than_its_length(listed: Community) -> None:

    with listed.configured(), alone("repo:one"):
        time.sleep(10)
        owned("repo:one")
        (claim,) = claims(listed)
        assert claim.beat >= 3
