"""Builds the Weaviate server from its published source with Go (spec 1.4)."""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from search.binary_release import NotObtained
from search.settings import WEAVIATE_VERSION

GO_VERSION = "1.26"  # what the server's go.mod asks for
_PACKAGE = f"github.com/weaviate/weaviate/cmd/weaviate-server@v{WEAVIATE_VERSION}"
_TELL_EVERY_SECONDS = 10
_KILL_AFTER_SECONDS = 5


def go_install(folder: Path, progress: Callable[[str], None]) -> Path:
    """The server's program, built into ``folder``.

    The user's GOFLAGS, GOPROXY and the like hold; a newer toolchain is fetched unless GOTOOLCHAIN
    says otherwise. Interrupted, it ends the compilers with it.

    Raises:
        NotObtained: Go is missing or the build failed; the reason ends with Go's last lines.
    """
    go = shutil.which("go")
    if go is None:
        raise NotObtained("there is no go on PATH")
    progress(
        f"building Weaviate {WEAVIATE_VERSION} with go install, once: about 5-6 minutes on "
        f"2 cores, ~190 MB (and 3-4 GB in Go's own caches, which `go clean -cache -modcache` frees)"
    )
    environment = {"GOTOOLCHAIN": "auto"} | os.environ | {"GOBIN": str(folder)}
    for cross in ("GOOS", "GOARCH"):  # go refuses GOBIN when it builds for another machine
        environment.pop(cross, None)
    last = deque[str](maxlen=8)
    with _running([go, "install", "-v", _PACKAGE], environment, folder) as process:
        _follow(process, last, progress)
        code = process.wait()
    if code != 0:
        raise NotObtained(f"go install ended with {code}: {' | '.join(last) or 'no output'}")
    return folder / "weaviate-server"


@contextmanager
def _running(
    command: list[str], environment: dict[str, str], folder: Path
) -> Iterator["subprocess.Popen[str]"]:
    """The build in a process group of its own, so that its compilers can be ended with it."""
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            _end(process)
        if process.stdout is not None:
            process.stdout.close()


def _end(process: "subprocess.Popen[str]") -> None:
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_KILL_AFTER_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _follow(
    process: "subprocess.Popen[str]", last: deque[str], progress: Callable[[str], None]
) -> None:
    """Counts what Go says it fetches and compiles, and tells it every ten seconds."""
    begun = time.monotonic()
    counts = {"fetched": 0, "compiled": 0}
    done = threading.Event()

    def tell() -> None:
        while not done.wait(_TELL_EVERY_SECONDS):
            minutes, seconds = divmod(int(time.monotonic() - begun), 60)
            progress(
                f"building Weaviate: {counts['fetched']} modules fetched, "
                f"{counts['compiled']} packages compiled, {minutes}:{seconds:02d}"
            )

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        for line in process.stdout or ():
            last.append(line.strip())
            counts["fetched" if line.startswith("go: downloading") else "compiled"] += 1
    finally:
        done.set()
        teller.join()
