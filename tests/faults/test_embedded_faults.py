"""Kills, stale state, taken ports: what the embedded Weaviate recovers from (1.4, W16, W17)."""

import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from search import embedded, embedded_start
from search.embedded_home import Home, home_of, prepare, record, recorded
from search.embedded_keys import made_keys
from search.embedded_ports import free_ports
from search.embedded_process import MARK, environment, spawn
from search.errors import PermanentError, ServerUnavailable
from search.locking import locked
from search.settings import Settings
from tests.support.weaviate_server import child, settings_in


@pytest.fixture
def settings(tmp_path: Path, binary: Path) -> Iterator[Settings]:
    """A home of the test's own; whatever runs in it at the end is stopped."""
    mine = settings_in(tmp_path, binary)
    yield mine
    embedded.stop(mine, timeout=5)
    assert servers_of(mine) == []


@pytest.fixture
def home(settings: Settings) -> Home:
    mine = home_of(settings)
    prepare(mine)
    return mine


def ignore(_: str) -> None:
    pass


def servers_of(settings: Settings) -> list[int]:
    """Every live process that was given the data folder of these settings."""
    found = []
    for process in psutil.process_iter():
        try:
            given = process.environ().get("PERSISTENCE_DATA_PATH")
            if given == str(home_of(settings).data) and lives(process.pid):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(condition: object, seconds: float = 240) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not lives(pid))


def settings_with(settings: Settings, start_timeout: float) -> Settings:
    binary = settings.weaviate.binary
    assert binary is not None
    return settings_in(settings.data_dir.parent, binary, start_timeout=start_timeout)


@contextmanager
def busy_machine() -> Iterator[None]:
    """Twice as many busy processes as there are processors."""
    with ExitStack() as ended:
        for _ in range(2 * (os.cpu_count() or 1)):
            burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            ended.callback(burner.wait)
            ended.callback(burner.kill)
        yield


def test_w14_processes_at_once_start_one_server(settings: Settings) -> None:
    starters = [child("start", settings) for _ in range(3)]
    outputs = [starter.communicate(timeout=120)[0] for starter in starters]
    pids = {int(re.findall(r"^server (\d+)", output, re.MULTILINE)[0]) for output in outputs}
    assert pids == set(servers_of(settings))
    assert len(pids) == 1
    assert sum("started Weaviate" in output for output in outputs) == 1


def test_callers_at_the_same_instant_start_one_server(
    settings: Settings, binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(4)

    def found_by_all(*_: object) -> Path:
        together.wait(240)
        return binary

    monkeypatch.setattr(embedded_start, "find_binary", found_by_all)
    said: list[str] = []
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: embedded.ensure_running(settings, said.append), range(4)))
    assert [found[0].pid] == servers_of(settings)
    assert len(set(found)) == 1
    assert len(said) == 1


def test_a_killed_server_is_started_again(settings: Settings) -> None:
    first = embedded.ensure_running(settings, ignore)
    kill(first.pid)
    assert embedded.running(settings) is None
    assert not embedded.status(settings).running
    second = embedded.ensure_running(settings, ignore)
    assert servers_of(settings) == [second.pid]


def test_a_recorded_number_that_another_process_has_now_is_left_alone(
    settings: Settings, home: Home
) -> None:
    first = embedded.ensure_running(settings, ignore)
    embedded.stop(settings)
    with subprocess.Popen(["sleep", "1000"]) as stranger:
        try:
            record(home, replace(first, pid=stranger.pid))
            assert embedded.running(settings) is None
            assert embedded.stop(settings) is False
            second = embedded.ensure_running(settings, ignore)
            assert second.pid != stranger.pid
            assert embedded.stop(settings) is True
            assert stranger.poll() is None
        finally:
            stranger.kill()


@pytest.mark.parametrize("damage", ["lost", "half-written", "the clock was set"])
def test_a_server_whose_state_file_no_longer_fits_is_found_and_taken_over(
    settings: Settings, home: Home, damage: str
) -> None:
    first = embedded.ensure_running(settings, ignore)
    state = home.run / "server.json"
    if damage == "lost":
        state.unlink()
    elif damage == "half-written":
        state.write_bytes(state.read_bytes()[:20])
    else:
        record(home, replace(first, created=first.created - 3600))
    assert embedded.status(settings).pid == first.pid
    said: list[str] = []
    assert embedded.ensure_running(settings, said.append) == first
    assert said == []
    assert embedded.running(settings) == first


def test_a_server_without_its_state_file_can_be_stopped(settings: Settings, home: Home) -> None:
    first = embedded.ensure_running(settings, ignore)
    (home.run / "server.json").unlink()
    assert embedded.stop(settings) is True
    assert not lives(first.pid)


def test_a_state_file_half_written_by_a_crash_does_not_hinder_a_start(
    settings: Settings, home: Home
) -> None:
    (home.run / "server.json").write_text('{"pid": 12, "crea')
    server = embedded.ensure_running(settings, ignore)
    assert servers_of(settings) == [server.pid]


@pytest.mark.parametrize("which", ["http", "raft"])
def test_when_a_recorded_port_is_taken_others_are_used(
    settings: Settings, home: Home, which: str
) -> None:
    first = embedded.ensure_running(settings, ignore)
    embedded.stop(settings)
    with socket.create_server(("127.0.0.1", getattr(first.ports, which))):
        second = embedded.ensure_running(settings, ignore)
    assert second.ports != first.ports
    assert servers_of(settings) == [second.pid]
    assert "address already in use" not in (home.run / "weaviate.log.1").read_text()


@pytest.mark.parametrize("which", ["http", "grpc", "gossip", "data", "rpc"])
def test_a_port_lost_between_the_choice_and_the_start_leads_to_another_try(
    settings: Settings, home: Home, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    lost = free_ports()
    with socket.create_server(("127.0.0.1", getattr(lost, which))):
        choices = iter([lost, free_ports()])
        monkeypatch.setattr(embedded_start, "free_ports", lambda: next(choices))
        server = embedded.ensure_running(settings, ignore)
    assert server.ports != lost
    assert servers_of(settings) == [server.pid]


def test_ports_lost_every_time_end_in_an_error_and_no_server(
    settings: Settings, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = free_ports()
    tries: list[int] = []

    def choose() -> object:
        tries.append(1)
        return lost

    monkeypatch.setattr(embedded_start, "free_ports", choose)
    with (
        socket.create_server(("127.0.0.1", lost.gossip)),
        pytest.raises(ServerUnavailable, match="took Weaviate's ports 3 times: try again"),
    ):
        embedded.ensure_running(settings, ignore)
    assert len(tries) == 3
    assert servers_of(settings) == []


def test_a_start_whose_starter_was_killed_is_joined_by_the_next(settings: Settings) -> None:
    starter = child("start", settings)
    wait_for(lambda: servers_of(settings))
    starter.kill()
    starter.communicate()
    left = servers_of(settings)
    assert embedded.running(settings) is None
    server = embedded.ensure_running(settings, ignore)
    assert [server.pid] == left == servers_of(settings)


def test_a_start_that_was_killed_before_it_wrote_anything_down_is_joined_too(
    settings: Settings, home: Home, binary: Path
) -> None:
    orphan = spawn(home, binary, free_ports(), made_keys(home))
    assert recorded(home) is None
    server = embedded.ensure_running(settings, ignore)
    assert server.pid == orphan.pid
    assert servers_of(settings) == [orphan.pid]


def test_a_server_killed_while_it_starts_is_told_with_its_last_log_lines(
    settings: Settings, home: Home
) -> None:
    starter = child("start", settings)
    wait_for(lambda: servers_of(settings) and home.log.exists() and home.log.stat().st_size)
    kill(servers_of(settings)[0])
    output, _ = starter.communicate(timeout=240)
    assert "ServerUnavailable: Weaviate ended while it started" in output
    assert re.search(r"^  (warning|error): \w+", output, re.MULTILINE)
    assert f"The whole log: {home.log}" in output
    assert embedded.ensure_running(settings, ignore).ready


def test_a_data_folder_that_cannot_be_read_is_told_with_the_servers_own_words(
    settings: Settings, home: Home
) -> None:
    for name in ("raft", "one_collection"):
        (home.data / name).mkdir()
    (home.data / "raft" / "raft.db").write_bytes(b"no database" * 1000)
    with pytest.raises(ServerUnavailable, match="invalid database"):
        embedded.ensure_running(settings, ignore)
    assert servers_of(settings) == []


def test_what_a_start_that_was_killed_left_of_raft_does_not_stop_the_next(
    settings: Settings, home: Home
) -> None:
    (home.data / "raft").mkdir()
    (home.data / "raft" / "raft.db").write_bytes(b"no database" * 1000)
    assert embedded.ensure_running(settings, ignore).ready


def test_a_start_under_load_is_waited_for_so_long_and_joined_the_next_time(
    settings: Settings, home: Home
) -> None:
    with busy_machine():
        starter = child("start", settings)
        wait_for(lambda: servers_of(settings) and home.log.exists() and home.log.stat().st_size)
        starter.kill()
        starter.communicate()
        (left,) = servers_of(settings)
        os.kill(left, signal.SIGSTOP)
        with pytest.raises(ServerUnavailable, match="is not ready in time") as caught:
            embedded.ensure_running(settings_with(settings, 0.5), ignore)
        os.kill(left, signal.SIGCONT)
        message = str(caught.value)
        assert f"(pid {left})" in message
        assert re.search(r"Its last log lines:\n  (warning|error): \w+", message)
        assert "raise weaviate.start_timeout" in message
        assert embedded.status(settings).reason == "it is starting, or its start was cut short"
        assert embedded.ensure_running(settings, ignore).pid == left


def test_a_server_that_turns_out_to_be_another_version_is_ended(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.embedded_ready.WEAVIATE_VERSION", "1.40.0")
    with pytest.raises(PermanentError, match=r"is version 1\.39\.0, not 1\.40\.0"):
        embedded.ensure_running(settings, ignore)
    assert servers_of(settings) == []


def test_a_caller_does_not_wait_for_ever_on_another_that_is_starting(
    settings: Settings, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_start, "_LOCK_SPARE_SECONDS", 0)
    with (
        locked(home.run / "start.lock"),
        pytest.raises(ServerUnavailable, match="another process is still starting Weaviate"),
    ):
        embedded.ensure_running(settings_with(settings, 0.3), ignore)


class Impostor(http.server.BaseHTTPRequestHandler):
    """Answers as a Weaviate that is ready would, and remembers what it was shown."""

    shown: list[str]

    def do_GET(self) -> None:
        self.shown.append(str(self.headers))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"version": "1.39.0"}).encode())

    def log_message(self, *_: object) -> None:
        pass


def test_another_server_on_a_recorded_port_is_not_believed_nor_shown_a_key(
    settings: Settings, home: Home, binary: Path
) -> None:
    Impostor.shown = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Impostor) as impostor:
        serving = threading.Thread(target=impostor.serve_forever, args=(0.05,))
        serving.start()
        try:
            ports = replace(free_ports(), http=impostor.server_port)
            stuck = spawn(home, binary, ports, made_keys(home))
            record(home, stuck)
            server = embedded.ensure_running(settings, ignore)
        finally:
            impostor.shutdown()
            serving.join()
    assert server.http_port != impostor.server_port
    assert Impostor.shown == []


def test_a_weaviate_that_huginn_did_not_start_is_named_and_left_alone(
    settings: Settings, home: Home, binary: Path
) -> None:
    theirs = environment(home, free_ports(), made_keys(home), os.environ)
    for name in MARK:
        del theirs[name]
    with subprocess.Popen(
        [binary, "--scheme", "http"], env=theirs, stderr=subprocess.DEVNULL
    ) as foreign:
        try:
            wait_for(lambda: lives(foreign.pid) and servers_of(settings))
            with pytest.raises(PermanentError, match=rf"^pid {foreign.pid} uses the data folder"):
                embedded.ensure_running(settings, ignore)
            assert embedded.stop(settings) is False
            assert f"pid {foreign.pid}, which" in (embedded.status(settings).reason or "")
            assert foreign.poll() is None
        finally:
            foreign.kill()


def test_a_process_that_holds_the_databases_lock_is_named(settings: Settings, home: Home) -> None:
    (home.data / "schema.db").write_bytes(b"")
    code = (
        "import fcntl, sys, time; held = open(sys.argv[1]); fcntl.flock(held, fcntl.LOCK_EX)\n"
        "print('held', flush=True); time.sleep(1000)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, home.data / "schema.db"], stdout=subprocess.PIPE
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(PermanentError, match=rf"^pid {holder.pid} uses the data folder"):
                embedded.ensure_running(settings, ignore)
        finally:
            holder.kill()
    assert servers_of(settings) == []


def test_a_server_that_hangs_is_ended_all_the_same(settings: Settings) -> None:
    server = embedded.ensure_running(settings, ignore)
    os.kill(server.pid, signal.SIGSTOP)
    assert embedded.stop(settings, timeout=0.5) is True
    assert not lives(server.pid)


def test_a_server_that_its_starter_never_reaped_counts_as_stopped(settings: Settings) -> None:
    starter = child("stay", settings)
    assert starter.stdout is not None
    wait_for(lambda: servers_of(settings))
    server = embedded.ensure_running(settings, ignore)
    assert embedded.stop(settings) is True
    assert psutil.Process(server.pid).status() == psutil.STATUS_ZOMBIE
    assert embedded.running(settings) is None
    starter.communicate()


def test_keys_lost_under_a_running_server_are_told_with_the_fix(
    settings: Settings, home: Home
) -> None:
    server = embedded.ensure_running(settings, ignore)
    for path in home.keys.iterdir():
        path.unlink()
    record(home, replace(server, ready=False))
    with pytest.raises(PermanentError, match="`huginn down` and then `huginn up` makes it"):
        embedded.ensure_running(settings, ignore)
    made_keys(home)
    with pytest.raises(PermanentError, match="does not take Huginn's key: `huginn down`"):
        embedded.ensure_running(settings, ignore)
    assert embedded.stop(settings) is True
    assert embedded.ensure_running(settings, ignore).ready
