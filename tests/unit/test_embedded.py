"""The embedded server's rules that need no server (spec 1.4)."""

import json
import os
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from search import embedded, embedded_keys
from search.embedded_home import Home, Server, home_of, prepare, record, recorded
from search.embedded_keys import Keys, made_keys, read_keys
from search.embedded_ports import Ports, are_free, free_ports
from search.embedded_process import environment, process_of
from search.errors import PermanentError, SettingsError
from search.locking import StillHeld, locked
from search.settings import WEAVIATE_VERSION, Settings

PORTS = Ports(http=1, grpc=2, gossip=3, raft=5)
KEYS = Keys(writer="w-key", reader="r-key", cluster="c-key")


def server(pid: int, created: float, *, ready: bool = True) -> Server:
    return Server(
        pid=pid, created=created, ports=PORTS, version=WEAVIATE_VERSION, binary="/x", ready=ready
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")


@pytest.fixture
def home(settings: Settings) -> Home:
    made = home_of(settings)
    prepare(made)
    return made


def test_the_server_sees_nothing_of_the_callers_environment_but_a_few_plain_names(
    home: Home,
) -> None:
    outside = {
        "PATH": "/bin",
        "HUGINN_MATRIX__TOKEN": "secret",
        "AUTHENTICATION_OIDC_ENABLED": "true",
        "AUTHORIZATION_RBAC_ENABLED": "true",
        "CLUSTER_JOIN": "elsewhere:7946",
        "PERSISTENCE_DATA_PATH": "/elsewhere",
        "DEFAULT_QUANTIZATION": "rq-8",
        "https_proxy": "http://user:secret@proxy",
    }
    seen = environment(home, PORTS, KEYS, outside)
    assert {name for name in outside if seen.get(name) == outside[name]} == {"PATH"}
    assert not [value for value in seen.values() if "secret" in value]


def test_the_server_is_told_to_take_only_our_two_keys(home: Home) -> None:
    seen = environment(home, PORTS, KEYS, {})
    assert seen["AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED"] == "false"
    assert seen["AUTHENTICATION_APIKEY_ALLOWED_KEYS"] == "w-key,r-key"
    users = seen["AUTHENTICATION_APIKEY_USERS"].split(",")
    assert users == [
        seen["AUTHORIZATION_ADMINLIST_USERS"],
        seen["AUTHORIZATION_ADMINLIST_READONLY_USERS"],
    ]


def test_w28_our_own_server_indexes_before_it_acknowledges(home: Home) -> None:
    assert environment(home, PORTS, KEYS, {"ASYNC_INDEXING": "true"})["ASYNC_INDEXING"] == "false"


def test_free_ports_are_all_different() -> None:
    ports = free_ports()
    numbers = [ports.http, ports.grpc, ports.gossip, ports.data, ports.raft, ports.rpc]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("which", ["http", "grpc", "gossip", "data", "raft", "rpc"])
@pytest.mark.parametrize("address", ["127.0.0.1", ""])
def test_ports_are_not_free_when_somebody_listens_on_any_of_them(which: str, address: str) -> None:
    ports = free_ports()
    assert are_free(ports)
    with socket.create_server((address, getattr(ports, which))):
        assert not are_free(ports)


def test_ports_are_not_free_when_gossip_is_taken_for_datagrams() -> None:
    ports = free_ports()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", ports.gossip))
        assert not are_free(ports)


def test_folders_are_closed_to_others_even_where_they_stood_open(settings: Settings) -> None:
    home = home_of(settings)
    home.data.mkdir(parents=True)
    home.root.chmod(0o755)
    prepare(home)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (home.root, home.data, home.keys)}
    assert modes == {0o700}


def test_a_data_folder_that_cannot_be_made_is_named_as_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError) as caught:
        prepare(home_of(Settings(data_dir=tmp_path / "file" / "data")))
    assert caught.value.field == "data_dir"


def test_keys_are_made_once_and_only_their_owner_can_read_them(home: Home) -> None:
    before = os.umask(0)
    try:
        keys = made_keys(home)
    finally:
        os.umask(before)
    assert made_keys(home) == keys
    assert len({keys.writer, keys.reader, keys.cluster}) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.keys.iterdir()} == {0o600}


def test_a_key_is_never_open_to_others_not_even_while_it_is_written(home: Home) -> None:
    before = os.umask(0)
    try:
        embedded_keys._write_new(home.keys / "writer.key", "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((home.keys / "writer.key").stat().st_mode) == 0o600


def test_key_files_that_stood_open_are_closed(home: Home) -> None:
    made_keys(home)
    (home.keys / "writer.key").chmod(0o644)
    made_keys(home)
    assert stat.S_IMODE((home.keys / "writer.key").stat().st_mode) == 0o600


def test_many_at_once_end_up_with_the_same_keys(home: Home) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: made_keys(home), range(32)))
    assert len({(keys.writer, keys.reader, keys.cluster) for keys in found}) == 1
    assert sorted(path.name for path in home.keys.iterdir()) == [
        "cluster.key",
        "reader.key",
        "writer.key",
    ]


def test_keys_are_not_shown() -> None:
    assert "key" not in repr(KEYS)


def test_missing_and_empty_keys_are_told_with_the_fix(home: Home, settings: Settings) -> None:
    with pytest.raises(PermanentError, match=r"writer\.key is not there: `huginn down`"):
        embedded.keys(settings)
    made_keys(home)
    (home.keys / "reader.key").write_text("\n")
    with pytest.raises(PermanentError, match=r"reader\.key is empty: remove it"):
        read_keys(home)


def test_what_is_recorded_is_read_back(home: Home) -> None:
    record(home, server(7, 1.5))
    assert recorded(home) == server(7, 1.5)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param('{"pid": 12, "crea', id="half-written"),
        pytest.param("[]", id="a list"),
        pytest.param('{"pid": 12}', id="lacks the rest"),
        pytest.param(
            '{"pid": "x", "created": 1, "ports": {}, "version": "", "binary": "", "ready": true}',
            id="wrong types",
        ),
        pytest.param("\x00" * 64, id="zeros after a crash"),
    ],
)
def test_a_state_file_that_makes_no_sense_counts_as_none(home: Home, content: str) -> None:
    (home.run / "server.json").write_text(content)
    assert recorded(home) is None


def test_a_process_number_that_was_given_to_another_is_not_believed() -> None:
    mine = psutil.Process()
    assert process_of(server(mine.pid, mine.create_time())) == mine
    assert process_of(server(mine.pid, mine.create_time() - 5)) is None


def test_a_process_that_ended_but_was_not_reaped_does_not_live() -> None:
    with subprocess.Popen(["/bin/true"]) as child:
        created = psutil.Process(child.pid).create_time()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert process_of(server(child.pid, created)) is None


def test_a_server_that_is_not_ready_yet_is_not_running(settings: Settings, home: Home) -> None:
    mine = psutil.Process()
    record(home, server(mine.pid, mine.create_time(), ready=False))
    assert embedded.running(settings) is None
    record(home, server(mine.pid, mine.create_time()))
    assert embedded.running(settings) is not None


def test_a_running_server_of_another_version_is_refused_with_the_fix(
    settings: Settings, home: Home
) -> None:
    mine = psutil.Process()
    record(home, replace(server(mine.pid, mine.create_time()), version="1.38.0"))
    with pytest.raises(PermanentError, match=r"Weaviate 1\.38\.0 .*`huginn down`"):
        embedded.running(settings)


def test_a_server_that_never_ran_is_told_apart_from_one_that_is_stopped(
    settings: Settings, home: Home
) -> None:
    assert embedded.status(settings).reason == "it was never started with this data_dir"
    record(home, server(2**22 + 1, 1.0))
    told = embedded.status(settings)
    assert not told.running
    assert told.reason == f"it is stopped (its last pid was {2**22 + 1})"


def test_status_makes_no_folder(settings: Settings) -> None:
    embedded.status(settings)
    assert embedded.stop(settings) is False
    assert not settings.data_dir.exists()


def test_a_lock_is_free_again_once_its_holder_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import sys, time; from pathlib import Path; from search.locking import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(1000)"
    )
    root = Path(__file__).parents[2]
    holder = subprocess.Popen([sys.executable, "-c", code, path], cwd=root, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(StillHeld), locked(path, timeout=0.2):
        pass
    holder.kill()
    holder.communicate()
    with locked(path, timeout=5):
        pass


def test_importing_it_loads_no_client() -> None:
    code = "import sys, json, search.embedded; print(json.dumps(sorted(sys.modules)))"
    root = Path(__file__).parents[2]
    loaded = json.loads(subprocess.check_output([sys.executable, "-c", code], cwd=root))
    assert not {"weaviate", "httpx", "prefect", "git", "nio"} & set(loaded)
