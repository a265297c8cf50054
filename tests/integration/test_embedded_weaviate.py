"""The embedded Weaviate as its users meet it: real servers, real processes (spec 1.4, case W14)."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pytest
import weaviate
from weaviate.classes.config import DataType, Property
from weaviate.classes.init import Auth
from weaviate.collections import Collection
from weaviate.exceptions import InsufficientPermissionsError

from search import embedded
from search.binary import find_binary, stated_version
from search.binary_build import go_install
from search.binary_release import NotObtained
from search.embedded_home import home_of, record, recorded
from search.errors import PermanentError
from search.settings import WEAVIATE_VERSION, Settings
from tests.support.weaviate_server import child, settings_in

ROOT = Path(__file__).parents[2]


@pytest.fixture
def settings(tmp_path: Path, binary: Path) -> Iterator[Settings]:
    """A home of the test's own; whatever runs in it at the end is stopped."""
    mine = settings_in(tmp_path, binary)
    yield mine
    embedded.stop(mine, timeout=5)


@contextmanager
def client(server: embedded.Server, key: str) -> Iterator[weaviate.WeaviateClient]:
    with weaviate.connect_to_custom(
        http_host=server.address,
        http_port=server.http_port,
        http_secure=False,
        grpc_host=server.address,
        grpc_port=server.grpc_port,
        grpc_secure=False,
        auth_credentials=Auth.api_key(key),
    ) as opened:
        yield opened


def made(writer: weaviate.WeaviateClient, name: str) -> Collection:
    """A collection of one property (nothing makes one by itself: automatic schemas are off)."""
    text = Property(name="text", data_type=DataType.TEXT)
    return writer.collections.create(name, properties=[text])


def ignore(_: str) -> None:
    pass


def line_of(process: "subprocess.Popen[str]", start: str) -> str:
    """The next line of the process that begins so; its output ending first is a failure."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if line.startswith(start):
            return line.strip()
    raise AssertionError("".join(seen))


def wait_for(condition: object, seconds: float = 240) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_binary_states_the_pinned_version(binary: Path) -> None:
    assert stated_version(binary) == WEAVIATE_VERSION


def test_the_readers_key_reads_and_is_refused_every_write_by_the_server(
    server_settings: Settings, weaviate_server: embedded.Server, collection_name: str
) -> None:
    keys = embedded.keys(server_settings)
    with client(weaviate_server, keys.writer) as writer:
        kept = made(writer, collection_name).data.insert({"text": "kept"})
    with client(weaviate_server, keys.reader) as reader:
        held = reader.collections.get(collection_name)
        assert [one.uuid for one in held.query.bm25("kept").objects] == [kept]
        with pytest.raises(InsufficientPermissionsError):
            held.data.insert({"text": "more"})
        with pytest.raises(InsufficientPermissionsError):
            held.data.delete_by_id(kept)
        with pytest.raises(InsufficientPermissionsError):
            reader.collections.delete(collection_name)
        with pytest.raises(InsufficientPermissionsError):
            reader.collections.create(f"{collection_name}B")
        assert len(held.query.fetch_objects().objects) == 1


def test_without_a_key_nothing_is_answered(weaviate_server: embedded.Server) -> None:
    base = f"http://{weaviate_server.address}:{weaviate_server.http_port}"
    assert httpx.get(f"{base}/v1/schema", timeout=120).status_code == 401
    wrong = {"Authorization": "Bearer guessed"}
    assert httpx.get(f"{base}/v1/schema", headers=wrong, timeout=120).status_code == 401


def test_the_port_for_other_nodes_asks_for_a_password(
    server_settings: Settings, weaviate_server: embedded.Server
) -> None:
    url = f"http://{weaviate_server.address}:{weaviate_server.ports.data}/nodes/status"
    assert httpx.get(url, timeout=120).status_code == 401
    password = embedded.keys(server_settings).cluster
    assert httpx.get(url, auth=("huginn", password), timeout=120).status_code == 200


def test_a_server_listens_only_on_the_ports_it_was_given(weaviate_server: embedded.Server) -> None:
    ports = weaviate_server.ports
    connections = psutil.Process(weaviate_server.pid).net_connections("tcp")
    listening = {
        one.laddr.port: one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN
    }
    loopback = {ports.http, ports.gossip, ports.raft, ports.rpc}
    assert set(listening) == loopback | {ports.grpc, ports.data}
    assert {listening[port] for port in loopback} == {"127.0.0.1"}


def test_everything_it_writes_is_closed_to_others(
    server_settings: Settings, weaviate_server: embedded.Server
) -> None:
    modes = _modes_below(home_of(server_settings).root)
    assert len(modes) > 10
    assert not [path for path, mode in modes.items() if mode & 0o077]


def _modes_below(root: Path) -> dict[Path, int]:
    """Of a running server's files; one that it removes meanwhile has none."""
    modes = {}
    for path in (root, *root.rglob("*")):
        with suppress(FileNotFoundError):
            modes[path] = stat.S_IMODE(path.stat().st_mode)
    return modes


def test_no_key_is_in_the_log_or_the_state_file(
    server_settings: Settings, weaviate_server: embedded.Server
) -> None:
    keys = embedded.keys(server_settings)
    run = home_of(server_settings).run
    text = "".join(path.read_text() for path in run.iterdir())
    assert str(weaviate_server.pid) in text
    assert not [key for key in (keys.writer, keys.reader, keys.cluster) if key in text]


def test_w14_it_is_started_once_said_once_and_found_by_other_processes(settings: Settings) -> None:
    said: list[str] = []
    first = embedded.ensure_running(settings, said.append)
    started = f"started Weaviate {WEAVIATE_VERSION} (pid {first.pid})"
    assert said == [f"{started}; it stays up between commands: `huginn down` stops it"]
    assert embedded.ensure_running(settings, said.append) == first
    with client(first, embedded.keys(settings).writer):
        other = child("start", settings)
        assert line_of(other, "server") == f"server {first.pid} {first.http_port}"
        other.communicate()
    assert len(said) == 1


def test_ctrl_c_at_the_command_that_started_it_spares_it(settings: Settings) -> None:
    starter = child("stay", settings)
    pid = int(line_of(starter, "server").split()[1])
    assert os.getsid(pid) == pid
    os.killpg(starter.pid, signal.SIGINT)
    starter.communicate(timeout=240)
    assert lives(pid)
    server = embedded.running(settings)
    assert server is not None
    assert server.pid == pid


def test_it_stops_when_told_and_comes_back_with_its_data_keys_and_ports(settings: Settings) -> None:
    first = embedded.ensure_running(settings, ignore)
    keys = embedded.keys(settings)
    with client(first, keys.writer) as writer:
        made(writer, "Kept").data.insert({"text": "kept"})
    assert embedded.stop(settings) is True
    assert not lives(first.pid)
    assert embedded.running(settings) is None
    assert embedded.stop(settings) is False
    second = embedded.ensure_running(settings, ignore)
    assert second.pid != first.pid
    assert second.ports == first.ports
    assert embedded.keys(settings) == keys
    with client(second, keys.reader) as reader:
        assert len(reader.collections.get("Kept").query.fetch_objects().objects) == 1


def test_data_is_read_and_written_after_all_ports_changed(settings: Settings) -> None:
    first = embedded.ensure_running(settings, ignore)
    key = embedded.keys(settings).writer
    with client(first, key) as writer:
        made(writer, "Kept").data.insert({"text": "kept"})
    embedded.stop(settings)
    home = home_of(settings)
    (home.run / "server.json").unlink()
    second = embedded.ensure_running(settings, ignore)
    assert not set(vars_of(second)) & set(vars_of(first))
    with client(second, key) as writer:
        writer.collections.get("Kept").data.insert({"text": "more"})
        writer.collections.create("Another")
        assert len(writer.collections.get("Kept").query.fetch_objects().objects) == 2


def vars_of(server: embedded.Server) -> tuple[int, ...]:
    ports = server.ports
    return ports.http, ports.grpc, ports.gossip, ports.data, ports.raft, ports.rpc


def test_status_tells_what_runs_and_how_much_it_holds(settings: Settings) -> None:
    server = embedded.ensure_running(settings, ignore)
    told = embedded.status(settings)
    assert (told.running, told.ready, told.pid) == (True, True, server.pid)
    assert (told.http_port, told.grpc_port) == (server.http_port, server.grpc_port)
    assert told.size > 10_000
    assert told.since is not None
    assert told.reason is None


def test_in_the_foreground_it_is_found_by_others_and_ends_in_order(settings: Settings) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        address = str(settings.data_dir.parent / "notify")
        manager.bind(address)
        manager.settimeout(240)
        keeper = child("foreground", settings, environment={"NOTIFY_SOCKET": address})
        assert manager.recv(100) == b"READY=1"
        found = embedded.ensure_running(settings, ignore)
        assert f"(pid {found.pid})" in line_of(keeper, "Weaviate")
        keeper.terminate()
        assert line_of(keeper, "ended") == "ended in order"
        assert manager.recv(100) == b"STOPPING=1"
    assert keeper.wait(240) == 0
    assert not lives(found.pid)


def test_a_second_one_in_the_foreground_is_refused_and_the_first_lives(settings: Settings) -> None:
    server = embedded.ensure_running(settings, ignore)
    keeper = child("foreground", settings)
    output, _ = keeper.communicate(timeout=240)
    assert f"running already (pid {server.pid}): `huginn down` stops it" in output
    assert keeper.returncode == 1
    assert lives(server.pid)


def test_in_the_foreground_the_end_of_the_server_is_an_error(settings: Settings) -> None:
    keeper = child("foreground", settings)
    pid = int(re.findall(r"pid (\d+)", line_of(keeper, "Weaviate"))[0])
    os.kill(pid, signal.SIGKILL)
    assert f"(pid {pid}) ended by itself (-9)" in line_of(keeper, "ServerUnavailable")
    keeper.communicate()
    assert keeper.returncode == 1


@pytest.mark.parametrize("who", ["this process", "its parent"])
def test_under_a_service_manager_nothing_is_started_in_the_background(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    unit = os.getpid() if who == "this process" else os.getppid()
    monkeypatch.setenv("SYSTEMD_EXEC_PID", str(unit))
    with pytest.raises(PermanentError, match="`huginn up --foreground` as a unit of its own"):
        embedded.ensure_running(settings, ignore)
    assert recorded(home_of(settings)) is None


def test_under_a_service_manager_a_running_server_is_used(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = embedded.ensure_running(settings, ignore)
    monkeypatch.setenv("SYSTEMD_EXEC_PID", str(os.getpid()))
    record(home_of(settings), replace(server, ready=False))
    assert embedded.ensure_running(settings, ignore).pid == server.pid


KILLED_SESSION = """
import os, signal
from tests.support.weaviate_server import running_server
def test_dies(_session_settings, tmp_path_factory):
    with running_server(_session_settings) as server:
        with open(os.environ["PID_FILE"], "w") as out:
            out.write(str(server.pid))
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_test_session_that_is_killed_leaves_no_server(tmp_path: Path, binary: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_dies.py").write_text(KILLED_SESSION)
    pid_file = tmp_path / "pid"
    killed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PID_FILE": str(pid_file),
            "HUGINN_TEST_WEAVIATE_BINARY": str(binary),
        },
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    pid = int(pid_file.read_text())
    try:
        wait_for(lambda: not lives(pid), seconds=20)
    finally:
        if lives(pid):
            os.kill(pid, signal.SIGKILL)


def test_go_says_why_it_cannot_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    with pytest.raises(NotObtained, match=r"GOPROXY=off|no go on PATH"):
        go_install(tmp_path, ignore)


@pytest.mark.skipif(
    "HUGINN_TEST_GO_INSTALL" not in os.environ,
    reason="builds Weaviate for minutes: set HUGINN_TEST_GO_INSTALL=1",
)
def test_go_builds_a_server_that_is_kept_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.binary.PROGRAM", "no-such-server")
    found = find_binary(Settings(data_dir=tmp_path, cache_dir=tmp_path), ignore)
    assert stated_version(found) == WEAVIATE_VERSION
