"""The look-up service as a process: started on demand, one only, replaced when old, ended clean."""

import json
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from search import client
from search.embedded_process import is_live
from search.settings import Settings
from tests.support.fakes import current, file_passage
from tests.support.look_ups import ROOT, Desk, Shown, address_of, desk, done, put

REPOSITORY = {"name": "one", "url": "/srv/one"}


@pytest.fixture
def bare(tmp_path: Path, server_settings: Settings, collection_name: str) -> Iterator[Desk]:
    """A collection that was never ingested: the service is quick to be ready, without a model."""
    weaviate = address_of(server_settings, collection_name)
    with desk(tmp_path, weaviate=weaviate, repositories=[REPOSITORY]) as made:
        yield made


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, server_settings: Settings) -> Iterator[Desk]:
    """A collection with one file, made with the real model, and a service that has it warm."""
    passage = file_passage("Rotate the signing key.", "docs/keys.md")
    put(server_settings, "TestFilled", [passage], [current("repo:one")])
    weaviate = address_of(server_settings, "TestFilled")
    folder = tmp_path_factory.mktemp("filled")
    with desk(folder, weaviate=weaviate, repositories=[REPOSITORY]) as made:
        assert made.run("serve").code == 0
        yield made


def nothing_ingested(shown: Shown) -> bool:
    return shown.code == 3 and "Nothing was ingested yet" in shown.out


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it comes to hold within a generous time."""
    deadline = time.monotonic() + 240
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_look_up_starts_the_service_and_the_next_one_finds_it(bare: Desk) -> None:
    first = bare.run("key")
    assert nothing_ingested(first)
    assert "starting the look-up service" in first.err
    pid = bare.service().pid
    second = bare.run("key")
    assert nothing_ingested(second)
    assert second.err == ""
    assert (bare.service().pid, bare.services()) == (pid, [pid])


def test_only_we_can_reach_it_and_it_outlives_us_in_a_session_of_its_own(bare: Desk) -> None:
    bare.run("key")
    place = bare.place()
    assert place.folder.parent == bare.runtime
    assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(place.socket.stat().st_mode) == 0o600
    service = bare.service()
    assert Path(f"/proc/{service.pid}/stat").read_text().rsplit(")", 1)[1].split()[3] == str(
        service.pid
    )
    assert not [each for each in service.net_connections("tcp") if each.status == "LISTEN"]


def test_clients_that_start_at_once_end_up_with_one_service(bare: Desk) -> None:
    racing = [bare.start("key") for _ in range(4)]
    assert all(nothing_ingested(done(each)) for each in racing)
    assert bare.services() == [bare.service().pid]


def test_two_services_started_at_once_leave_one(bare: Desk) -> None:
    """Even past the clients' own lock: the second finds that another listens, and is content."""
    command = [sys.executable, "-m", "search.service", str(bare.config)]
    racing = [subprocess.Popen(command, env=bare.variables(), cwd=bare.folder) for _ in range(2)]
    assert eventually(lambda: any(each.poll() == 0 for each in racing))
    (left,) = [each for each in racing if each.poll() is None]
    assert bare.service().pid == left.pid
    bare.run("serve", "--stop")
    assert left.wait(240) == 0


def test_a_service_with_nothing_to_do_ends_and_leaves_no_socket(bare: Desk) -> None:
    bare.write(search={"idle_timeout": 1})
    assert nothing_ingested(bare.run("key"))
    service, place = bare.service(), bare.place()
    assert eventually(lambda: not is_live(service))
    assert not place.socket.exists()
    assert "nothing was asked for a while" in bare.log()


def test_a_change_of_the_settings_replaces_the_service_and_says_so(bare: Desk) -> None:
    bare.run("key")
    old = bare.service().pid
    bare.write(search={"idle_timeout": 500})
    shown = bare.run("key")
    assert nothing_ingested(shown)
    assert "older than the code or the settings" in shown.err
    assert old not in bare.services()
    assert bare.services() == [bare.service().pid]


def test_a_changed_key_in_the_environment_replaces_the_service(bare: Desk) -> None:
    key = bare.content["weaviate"].pop("reader_key")
    bare.write()
    bare.environment["HUGINN_WEAVIATE__READER_KEY"] = "wrong-key-of-before"
    refused = bare.run("key")
    assert refused.code == 3
    assert "Check weaviate.writer_key and" in refused.err
    assert "wrong-key-of-before" not in refused.err + refused.out + bare.log()
    bare.environment["HUGINN_WEAVIATE__READER_KEY"] = key
    assert nothing_ingested(bare.run("key"))
    assert len(bare.services()) == 1


def test_a_service_refuses_a_caller_whose_code_is_another(bare: Desk) -> None:
    bare.run("key")
    reply = client.send(bare.place(), "/search", {"texts": ["key"]}, seconds=30, mark="later code")
    assert reply["error"]["kind"] == "stale"


def test_other_settings_have_another_service(bare: Desk, tmp_path: Path) -> None:
    bare.run("key")
    pid = bare.service().pid
    bare.environment["HUGINN_SEARCH__IDLE_TIMEOUT"] = "300"
    bare.run("key")
    assert bare.service().pid != pid
    assert len(bare.services()) == 2


def test_stop_ends_the_service_and_is_fine_when_none_runs(bare: Desk) -> None:
    bare.run("key")
    service, place = bare.service(), bare.place()
    assert bare.run("serve", "--stop").code == 0
    assert not is_live(service)
    assert not place.socket.exists()
    again = bare.run("serve", "--stop")
    assert (again.code, again.err) == (0, "no look-up service runs\n")


def test_a_service_manager_may_keep_it_in_the_foreground(bare: Desk) -> None:
    process = bare.start("serve", "--foreground")
    place = bare.place()
    assert eventually(lambda: client.is_listening(place))
    assert bare.service().pid == process.pid
    assert nothing_ingested(bare.run("key"))
    refused = bare.run("serve", "--foreground")
    assert refused.code == 3
    assert "runs already" in refused.err
    psutil.Process(process.pid).terminate()
    shown = done(process)
    assert shown.code == 0
    assert not place.socket.exists()


def test_under_a_service_manager_nothing_is_left_in_the_background(bare: Desk) -> None:
    program = (
        "import os; os.environ['SYSTEMD_EXEC_PID'] = str(os.getpid());"
        "from search.cli import main; main(['key'])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=bare.variables(),
        cwd=bare.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert nothing_ingested(Shown(run.returncode, run.stdout, run.stderr))
    assert bare.services() == []


def test_without_the_service_the_answer_is_the_same(filled: Desk) -> None:
    there, here = (
        filled.run("signing key", "--json"),
        filled.run("signing key", "--json", "--no-serve"),
    )
    assert (there.code, here.code) == (0, 0)
    # Scores differ in their last digits: the service encodes on one core (E04).
    assert _rounded(there.out) == _rounded(here.out)


def _rounded(document: str) -> object:
    return json.loads(document, parse_float=lambda number: round(float(number), 4))


def test_a_bad_setting_is_told_by_whoever_starts_the_service(bare: Desk) -> None:
    bare.write(search={"idle_timeout": "soon"})
    shown = bare.run("key")
    assert shown.code == 2
    assert "search.idle_timeout" in shown.err
    assert bare.services() == []


def test_e07_a_look_up_loads_the_standard_library_and_click_only(filled: Desk) -> None:
    program = (
        "import atexit, sys; before = set(sys.modules);"
        "atexit.register(lambda: print(*sorted(set(sys.modules) - before), file=sys.stderr));"
        "from search.cli import main; main()"
    )
    for arguments in (["signing key"], ["signing key", "--json"], ["signing key", "--jsonl"]):
        run = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env=filled.variables(),
            cwd=filled.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (run.returncode, "Rotate" in run.stdout) == (0, True)
        packages = {name.partition(".")[0] for name in run.stderr.split()}
        assert packages - sys.stdlib_module_names == {"search", "click"}


def test_the_log_has_the_command_and_never_what_was_asked_or_found(filled: Desk) -> None:
    filled.run("signing key")
    assert " search 0 " in filled.log()
    assert "signing" not in filled.log()


def test_an_unknown_source_is_a_usage_error_through_the_service_too(filled: Desk) -> None:
    shown = filled.run("key", "--repo", "onne")
    assert (shown.code, shown.out) == (2, "")
    assert "Did you mean 'one'?" in shown.err


def test_a_request_that_is_too_large_or_no_json_is_refused(bare: Desk) -> None:
    bare.run("key")
    path = str(bare.place().socket)
    for length, body in ((70_000, b""), (5, b"words"), (2, b"[]"), (-1, b"")):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(240)
            raw.connect(path)
            head = f"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n"
            mark = f"{client.FINGERPRINT}: {_mark_of(bare)}\r\n\r\n"
            raw.sendall((head + mark).encode() + body)
            reply = raw.makefile("rb").read()
        assert reply.startswith(b"HTTP/1.1 400")
        assert b'"field": "body"' in reply
    assert nothing_ingested(bare.run("key"))


def _mark_of(made: Desk) -> str:
    program = (
        "from search.service_place import *; from pathlib import Path;"
        f"print(fingerprint_of(place_of(Path({str(made.config)!r}))))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=made.variables(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.strip()
