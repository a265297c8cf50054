"""Finding the Weaviate server: stand-in programs, a release server on loopback (spec 1.4)."""

import http.server
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from search import binary_release
from search.binary import cached_path, find_binary, stated_version
from search.binary_release import NotObtained, release_url, unpack
from search.errors import PermanentError, SettingsError
from search.settings import WEAVIATE_VERSION, Settings, WeaviateSettings

ROOT = Path(__file__).parents[2]


def program(path: Path, version: str = WEAVIATE_VERSION) -> Path:
    """A stand-in that states its version as Weaviate does, in a log line, and fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho \'{{"build_wv_version":"{version}"}}\' >&2\nexit 1\n')
    path.chmod(0o755)
    return path


def archive_of(folder: Path, name: str = "weaviate", content: bytes | None = None) -> bytes:
    """A release archive with one file."""
    data = program(folder / "made").read_bytes() if content is None else content
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as bundle:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        bundle.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


class ReleaseServer:
    """Serves one archive on loopback and counts how often it was asked for."""

    def __init__(self, content: bytes) -> None:
        outer = self
        self.content = content
        self.promised: int | None = None
        self.delay = 0.0
        self.asked = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                self.send_response(200)
                self.send_header("Content-Length", str(outer.promised or len(outer.content)))
                self.end_headers()
                time.sleep(outer.delay)
                self.wfile.write(outer.content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/release.tar.gz"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReleaseServer]:
    """A release that can be had; the client's rule for its address is tested by itself."""
    server = ReleaseServer(archive_of(tmp_path))
    monkeypatch.setattr(binary_release, "release_url", lambda _: server.url)
    yield server
    server.close()


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Nothing configured, and no PATH but what a test puts there."""
    (tmp_path / "bin").mkdir()
    for tool in ("cp", "sleep"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or f"/bin/{tool}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")


def configured(settings: Settings, path: Path) -> Settings:
    return settings.model_copy(update={"weaviate": WeaviateSettings(binary=path)})


def ignore(_: str) -> None:
    pass


def test_a_program_is_asked_for_its_version(tmp_path: Path) -> None:
    assert stated_version(program(tmp_path / "server", "1.2.3")) == "1.2.3"


def test_a_program_that_states_no_version_has_none() -> None:
    assert stated_version(Path("/bin/true")) is None


def test_the_configured_program_is_taken_before_all_others(
    settings: Settings, tmp_path: Path
) -> None:
    program(tmp_path / "bin" / "weaviate-server")
    chosen = program(tmp_path / "mine")
    assert find_binary(configured(settings, chosen), ignore) == chosen


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        pytest.param(lambda _: None, "is not a file", id="missing"),
        pytest.param(lambda path: path.write_text("x"), "is not executable", id="no program"),
        pytest.param(lambda path: program(path, "1.38.0"), "is version 1.38.0", id="other version"),
        pytest.param(
            lambda path: path.symlink_to("/bin/true"), "does not answer like", id="another program"
        ),
    ],
)
def test_a_configured_program_that_cannot_be_used_is_named_with_the_reason(
    settings: Settings, tmp_path: Path, make: object, reason: str
) -> None:
    assert callable(make)
    make(tmp_path / "mine")
    with pytest.raises(SettingsError, match=reason) as caught:
        find_binary(configured(settings, tmp_path / "mine"), ignore)
    assert caught.value.field == "weaviate.binary"


def test_the_program_on_path_comes_before_the_cache(settings: Settings, tmp_path: Path) -> None:
    program(cached_path(settings))
    on_path = program(tmp_path / "bin" / "weaviate-server")
    assert find_binary(settings, ignore) == on_path


def test_another_version_on_path_is_passed_over(settings: Settings, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "weaviate-server", "1.38.0")
    cached = program(cached_path(settings))
    assert find_binary(settings, ignore) == cached


def test_a_release_is_downloaded_once_and_kept(settings: Settings, release: ReleaseServer) -> None:
    said: list[str] = []
    first = find_binary(settings, said.append)
    assert find_binary(settings, said.append) == first == cached_path(settings)
    assert release.asked == 1
    assert said[0].startswith(f"downloading Weaviate {WEAVIATE_VERSION}")
    assert sorted(path.name for path in first.parent.iterdir()) == ["build.lock", first.name]


def test_a_damaged_file_in_the_cache_is_replaced(
    settings: Settings, release: ReleaseServer
) -> None:
    cached = cached_path(settings)
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"\x7fELF half a progr")
    cached.chmod(0o755)
    find_binary(settings, ignore)
    assert stated_version(cached) == WEAVIATE_VERSION


def test_what_a_killed_process_left_half_made_is_cleared_away(
    settings: Settings, release: ReleaseServer
) -> None:
    leftover = cached_path(settings).parent / "making-abc" / "weaviate"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"half")
    find_binary(settings, ignore)
    assert not leftover.parent.exists()


def test_an_archive_cut_short_on_the_way_is_not_used(
    settings: Settings, release: ReleaseServer
) -> None:
    release.promised = len(release.content)
    release.content = release.content[: len(release.content) // 2]
    with pytest.raises(PermanentError, match="download: http"):
        find_binary(settings, ignore)
    assert not cached_path(settings).exists()


def test_a_release_of_another_version_is_not_kept(
    settings: Settings, release: ReleaseServer, tmp_path: Path
) -> None:
    release.content = archive_of(tmp_path, content=program(tmp_path / "x", "1.38.0").read_bytes())
    with pytest.raises(PermanentError, match=r"download: what came of it is version 1\.38\.0"):
        find_binary(settings, ignore)
    assert not cached_path(settings).exists()


def test_an_archive_without_the_program_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "release.tar.gz"
    archive.write_bytes(archive_of(tmp_path, name="README"))
    with pytest.raises(NotObtained, match="lacks 'weaviate'"):
        unpack(archive, tmp_path)


def test_an_archive_whose_program_is_a_link_out_of_it_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "release.tar.gz"
    with tarfile.open(archive, "w:gz") as bundle:
        member = tarfile.TarInfo("weaviate")
        member.type, member.linkname = tarfile.SYMTYPE, "/bin/sh"
        bundle.addfile(member)
    with pytest.raises(NotObtained):
        unpack(archive, tmp_path)


def test_a_zip_archive_is_unpacked_too(tmp_path: Path) -> None:
    archive = tmp_path / "release.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.write(program(tmp_path / "made"), "weaviate")
    assert stated_version(unpack(archive, tmp_path)) == WEAVIATE_VERSION


def test_the_release_address_is_the_clients_own_rule(tmp_path: Path) -> None:
    url = release_url(tmp_path)
    assert url.startswith("https://")
    assert f"/v{WEAVIATE_VERSION}/weaviate-v{WEAVIATE_VERSION}-" in url
    assert url.endswith((".tar.gz", ".zip"))


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without internet: nobody listens at the release's address."""
    monkeypatch.setattr(binary_release, "release_url", lambda _: "http://127.0.0.1:9/x.tar.gz")


def go_program(tmp_path: Path, script: str) -> None:
    path = tmp_path / "bin" / "go"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_when_nothing_works_one_error_says_what_was_tried_and_what_to_do(
    settings: Settings, unreachable: None
) -> None:
    with pytest.raises(PermanentError) as caught:
        find_binary(settings, ignore)
    message = str(caught.value)
    for tried in ("- PATH: there is no", "- download: http://127.0.0.1:9/", "- go install: there"):
        assert tried in message
    for fix in ("install Go 1.26", "on PATH", "weaviate.binary", "weaviate.url"):
        assert fix in message


def test_go_builds_the_pinned_version_with_the_users_flags(
    settings: Settings, tmp_path: Path, unreachable: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = program(tmp_path / "made")
    go_program(
        tmp_path,
        f'echo "$* $GOFLAGS $GOTOOLCHAIN [$GOOS]" >{tmp_path}/asked\n'
        f'cp {made} "$GOBIN/weaviate-server"',
    )
    monkeypatch.setenv("GOFLAGS", "-p=1")
    monkeypatch.setenv("GOOS", "plan9")
    monkeypatch.delenv("GOTOOLCHAIN", raising=False)
    said: list[str] = []
    assert find_binary(settings, said.append) == cached_path(settings)
    asked = (tmp_path / "asked").read_text()
    package = f"github.com/weaviate/weaviate/cmd/weaviate-server@v{WEAVIATE_VERSION}"
    assert asked == f"install -v {package} -p=1 auto []\n"
    assert "about 5-6 minutes" in said[0]


def test_a_toolchain_that_the_user_chose_is_kept(
    settings: Settings, tmp_path: Path, unreachable: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_program(tmp_path, f'echo "$GOTOOLCHAIN" >{tmp_path}/asked; exit 1')
    monkeypatch.setenv("GOTOOLCHAIN", "local")
    with pytest.raises(PermanentError):
        find_binary(settings, ignore)
    assert (tmp_path / "asked").read_text() == "local\n"


def test_a_failed_build_is_told_with_its_last_lines(
    settings: Settings, tmp_path: Path, unreachable: None
) -> None:
    go_program(tmp_path, "echo 'go.mod requires go >= 1.26 (running go 1.19)' >&2; exit 1")
    with pytest.raises(PermanentError, match=r"go install ended with 1: go\.mod requires go >= 1"):
        find_binary(settings, ignore)
    assert [path.name for path in cached_path(settings).parent.iterdir()] == ["build.lock"]


CHILD = """
import sys
from pathlib import Path
from search import binary_release
from search.binary import find_binary
from search.settings import Settings
binary_release.release_url = lambda _: sys.argv[2]
folder = Path(sys.argv[1])
say = lambda line: print(line, flush=True)
print(find_binary(Settings(data_dir=folder / "data", cache_dir=folder / "cache"), say))
"""


def finder(tmp_path: Path, url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, tmp_path, url],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_of_two_processes_one_gets_the_program_and_the_other_waits(
    settings: Settings, tmp_path: Path, release: ReleaseServer
) -> None:
    release.delay = 2
    processes = [finder(tmp_path, release.url) for _ in range(2)]
    outputs = [process.communicate(timeout=240)[0] for process in processes]
    assert release.asked == 1
    assert all(output.endswith(f"{cached_path(settings)}\n") for output in outputs)
    assert sum("waiting for it" in output for output in outputs) == 1


def test_ctrl_c_ends_the_build_with_its_compilers_and_leaves_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    go_program(tmp_path, f"sleep 1000 & echo $! >{tmp_path}/compiler; echo pkg/a; wait")
    process = finder(tmp_path, "http://127.0.0.1:9/x.tar.gz")
    compiler = tmp_path / "compiler"
    wait_for(lambda: compiler.exists() and compiler.read_text() != "")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=240)
    assert process.returncode != 0
    wait_for(lambda: not lives(int(compiler.read_text())))
    assert [path.name for path in cached_path(settings).parent.iterdir()] == ["build.lock"]


def wait_for(condition: object, seconds: float = 240) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
