"""What users see, and the exit code, when the service or what is behind it breaks (spec 6.5)."""

import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from search import embedded
from search.embedded_process import is_live
from search.settings import Settings
from tests.support.fakes import META, current, file_passage
from tests.support.look_ups import Desk, address_of, desk, done, put
from tests.support.weaviate_server import running_server, say, settings_in

ONE, TWO, THREE, FOUR = (
    {"name": name, "url": f"/srv/{name}"} for name in ("one", "two", "three", "four")
)
PASSAGE = file_passage("Rotate the signing key.", "docs/keys.md")


@pytest.fixture
def bare(tmp_path: Path, server_settings: Settings, collection_name: str) -> Iterator[Desk]:
    """A collection that was never ingested: the service is quick to be ready, without a model."""
    weaviate = address_of(server_settings, collection_name)
    with desk(tmp_path, weaviate=weaviate, repositories=[ONE]) as made:
        yield made


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, server_settings: Settings) -> Iterator[Desk]:
    """One source is well, one was never ingested, two runs died: one long ago, one in a delete."""
    long_ago = datetime.now(UTC) - timedelta(days=2)
    records = [
        current("repo:one"),
        current("repo:three", state="refreshing", last_attempt=long_ago),
        current("repo:four", state="deleting", last_attempt=long_ago),
    ]
    put(server_settings, "TestShelf", [PASSAGE], records)
    weaviate = address_of(server_settings, "TestShelf")
    folder = tmp_path_factory.mktemp("shelf")
    with desk(folder, weaviate=weaviate, repositories=[ONE, TWO, THREE, FOUR]) as made:
        yield made


def test_a_killed_service_is_replaced_by_the_next_look_up(bare: Desk) -> None:
    bare.run("key")
    service, place = bare.service(), bare.place()
    service.kill()
    service.wait()
    assert place.socket.exists()  # dead, and in the way
    shown = bare.run("key")
    assert (shown.code, "Nothing was ingested yet" in shown.out) == (3, True)
    assert bare.services() == [bare.service().pid] != [service.pid]


def test_a_service_killed_in_the_middle_of_a_look_up_is_started_again_and_asked_again(
    bare: Desk,
) -> None:
    bare.run("key")
    service = bare.service()
    service.suspend()
    path = str(bare.place().socket)
    before = ends_of(path)
    asking = bare.start("key", "--timeout", "200")
    while ends_of(path) <= before:
        assert asking.poll() is None
    service.kill()
    shown = done(asking)
    assert (shown.code, "Nothing was ingested yet" in shown.out) == (3, True)
    # Whether it had taken the question in when it was killed is told in other words.
    assert re.search(r"went away: starting it anew|starting the look-up service", shown.err)


def ends_of(path: str) -> int:
    """The service's own end of its socket, and one for each connection to it."""
    return sum(line.endswith(path) for line in Path("/proc/net/unix").read_text().splitlines())


def test_a_service_that_hangs_ends_in_a_time_out_that_says_what_to_do(bare: Desk) -> None:
    bare.run("key")
    bare.service().suspend()
    shown = bare.run("key", "--timeout", "0.5")
    assert (shown.code, shown.out) == (3, "")
    assert "no answer within 0.5 s" in shown.err
    assert "--timeout" in shown.err


def test_a_service_that_hangs_is_stopped_all_the_same(
    bare: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare.run("key")
    service = bare.service()
    service.suspend()
    monkeypatch.setattr("search.service_start._STOP_SECONDS", 1)
    from search.service_start import stop

    assert stop(bare.place())
    assert not is_live(service)


@pytest.mark.parametrize("kind", ["nobody-listens", "no-socket"])
def test_a_dead_socket_is_no_obstacle(bare: Desk, kind: str) -> None:
    path = bare.place().socket
    if kind == "nobody-listens":
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
    else:
        path.write_text("no socket")
    shown = bare.run("key")
    assert (shown.code, "Nothing was ingested yet" in shown.out) == (3, True)
    assert bare.service().pid in bare.services()


def test_a_folder_of_somebody_elses_is_refused(bare: Desk) -> None:
    place = bare.place()
    place.folder.rmdir()
    place.folder.symlink_to(bare.folder)
    shown = bare.run("key")
    place.folder.unlink()
    assert (shown.code, shown.out) == (3, "")
    assert "belongs to somebody else" in shown.err
    assert bare.services() == []


def test_a_source_that_was_never_ingested_is_told_while_the_rest_answers(shelf: Desk) -> None:
    shown = shelf.run("signing key")
    assert shown.code == 0
    assert "Rotate the signing key." in shown.out
    assert "unavailable: repo:two: not ingested yet: run `huginn refresh`" in shown.out
    alone = shelf.run("signing key", "--repo", "two")
    assert alone.code == 3
    assert "Nothing found." in alone.out


def test_a_run_that_died_leaves_its_source_unavailable(shelf: Desk) -> None:
    for name, reason in (("three", "has not ended"), ("four", "deleting has not ended")):
        shown = shelf.run("signing key", "--repo", name)
        assert shown.code == 3
        assert f"unavailable: repo:{name}: " in shown.out
        assert reason in shown.out


def test_nothing_in_a_source_that_is_well_is_just_nothing(shelf: Desk) -> None:
    shown = shelf.run("signing key", "--repo", "one", "--path", "none/*")
    assert (shown.code, shown.out) == (1, "Nothing found.\n")


def test_a_collection_of_another_model_is_refused(
    tmp_path: Path, server_settings: Settings, collection_name: str
) -> None:
    put(server_settings, collection_name, [], [current("repo:one")], meta=META)
    weaviate = address_of(server_settings, collection_name)
    with desk(tmp_path, weaviate=weaviate, repositories=[ONE]) as made:
        shown = made.run("signing key")
        assert (shown.code, shown.out) == (3, "")
        assert "The collection was made with other weights of fake-model." in shown.err
        assert "`huginn refresh`: it rebuilds the collection" in shown.err


def test_the_service_survives_its_weaviate(tmp_path: Path, binary: Path) -> None:
    """A Weaviate that Huginn runs is started again; the service goes on, as it was."""
    server = settings_in(tmp_path, binary)
    embedded_one: dict[str, Any] = {"cache_dir": str(tmp_path / "cache"), "repositories": [ONE]}
    embedded_one["weaviate"] = {"binary": str(binary)}
    with running_server(server), desk(tmp_path, **embedded_one) as made:
        assert "Nothing was ingested yet" in made.run("key").out
        service = made.service()
        running = embedded.running(server)
        assert running is not None
        os.kill(running.pid, signal.SIGKILL)
        shown = made.run("key", "--timeout", "100")
        assert (shown.code, "Nothing was ingested yet" in shown.out) == (3, True)
        assert made.service().pid == service.pid


def test_a_weaviate_of_the_users_may_come_and_go(tmp_path: Path, binary: Path) -> None:
    server = settings_in(tmp_path, binary)
    with running_server(server):
        weaviate = address_of(server, "TestGone")
        with desk(tmp_path, weaviate=weaviate, repositories=[ONE]) as made:
            assert "Nothing was ingested yet" in made.run("key").out
            service = made.service()
            embedded.stop(server)
            gone = made.run("key", "--timeout", "100")
            assert (gone.code, gone.out) == (3, "")
            assert gone.err.startswith("error: Weaviate did not answer")
            embedded.ensure_running(server, say)  # at the ports of before
            back = made.run("key", "--timeout", "100")
            assert "Nothing was ingested yet" in back.out
            assert made.service().pid == service.pid


def test_what_is_no_service_on_the_socket_is_told_apart(bare: Desk) -> None:
    path = bare.place().socket
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        other.settimeout(120)
        asking = bare.start("key")
        while asking.poll() is None:
            other.settimeout(0.2)
            try:
                connection, _ = other.accept()
            except TimeoutError:
                continue
            with connection, suppress(BrokenPipeError):  # It may only look whether we listen.
                connection.sendall(b"hello\r\n")
        shown = done(asking)
    assert (shown.code, shown.out) == (3, "")
    assert "does not stay" in shown.err
