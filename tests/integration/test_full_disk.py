"""No room on the disk, and a store that takes no writes: nothing is lost (cases W04, spec 2.3)."""

import httpx
import pytest

from flows.report import SourcesFailed
from search import embedded
from search.connection import connect
from search.reader import Reader
from tests.support.community import Community, without_vectors


@pytest.fixture
def held(community: Community) -> Community:
    community.repository("one").commit({"a.md": "# A\n\nWhales sing in winter.\n"})
    assert community.refresh()["repo:one"].result == "done"
    community.repositories["one"].commit({"a.md": "# A\n\nRavens talk all year.\n"})
    return community


def test_without_room_on_the_disk_nothing_is_written_and_look_ups_go_on(
    held: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, record = held.passages(), held.record("repo:one")
    assert record is not None
    with monkeypatch.context() as patch:
        patch.setenv("HUGINN_MIN_FREE_BYTES", str(2**62))
        outcome = held.refresh()["repo:one"]
    assert outcome.result == "failed"
    assert "Free some, and run `huginn refresh` again" in outcome.reason
    assert held.passages() == before
    after = held.record("repo:one")
    assert after is not None
    assert after.cursor == record.cursor
    assert held.search("whales").hits
    assert held.refresh()["repo:one"].result == "done"
    assert "Ravens" in "".join(held.texts())


def test_a_backfill_of_a_range_asks_for_room_too(
    held: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("HUGINN_MIN_FREE_BYTES", str(2**62))
        with pytest.raises(SourcesFailed, match="repo:one"):
            held.backfill("repo:one", since="2000-01-01")
        record = held.record("repo:one")
        assert record is not None
        assert "bytes free" in (record.reason or "")
    assert held.backfill("repo:one", since="2000-01-01")["repo:one"].result == "done"


def test_w04_a_store_that_turned_read_only_fails_the_run_and_moves_no_cursor(
    held: Community,
) -> None:
    before, record = without_vectors(held.passages()), held.record("repo:one")
    assert record is not None
    shards(held, "READONLY")
    try:
        outcome = held.refresh()["repo:one"]
        assert outcome.result == "failed"
        assert "read-only" in outcome.reason
        assert without_vectors(held.passages()) == before
        after = held.record("repo:one")
        assert after is not None
        assert after.cursor.commit == record.cursor.commit
        assert held.search("whales").hits
    finally:
        shards(held, "READY")
    assert held.refresh()["repo:one"].result == "done"
    texts = "".join(held.texts())
    assert "Ravens" in texts
    assert "Whales" not in texts


def shards(community: Community, status: str) -> None:
    """Of the passages' collection, by the server's own API, as it does itself on a full disk."""
    with community.configured() as settings, connect(settings, "writer") as client:
        name = Reader(client, community.collection).resolve().name
    running = embedded.running(community.server)
    assert running is not None
    url = f"http://127.0.0.1:{running.http_port}/v1/schema/{name}/shards"
    key = {"Authorization": f"Bearer {embedded.keys(community.server).writer}"}
    for shard in httpx.get(url, headers=key, timeout=120).json():
        answer = httpx.put(
            f"{url}/{shard['name']}", headers=key, json={"status": status}, timeout=120
        )
        answer.raise_for_status()
