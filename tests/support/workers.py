"""Real Prefect workers, each as on a machine of its own, and the runs that they take."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import TypeVar

from tests.support.weaviate_server import ended_with_this_process

PATIENCE = 400.0
_MARK = "TESTS_WORKER"

T = TypeVar("T")


def eventually(what: str, look: Callable[[], T], *, every: float = 0.5) -> T:
    """The first true thing that ``look`` gives."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(every)
    raise AssertionError(f"in {PATIENCE:.0f} s there was not: {what}")


def environment(api: str, home: Path, **variables: str) -> dict[str, str]:
    """For commands of Prefect, with nothing of this process's own Prefect in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    home.mkdir(exist_ok=True)
    return {
        **kept,
        "PREFECT_API_URL": api,
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        **variables,
    }


def prefect(*arguments: str, env: dict[str, str], cwd: Path) -> str:
    """A command of Prefect's, without anybody to ask; what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", *arguments],
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Worker:
    """One worker and whatever it started, which all bear its ``mark``."""

    name: str
    mark: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def took(self, run: object) -> bool:
        """Whether it is this one that runs the run of that id."""
        return f"'{run}'" in self.said()

    def owns(self, pid: int) -> bool:
        return pid == self.process.pid or _bears(pid, self.mark)

    def die(self) -> None:
        """Its machine loses power: it and its runs are killed, and nobody is told."""
        self.process.kill()
        self.process.wait()
        while left := [pid for pid in _pids() if _bears(pid, self.mark)]:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, SIGKILL)
            time.sleep(0.05)


@contextmanager
def working(name: str, folder: Path, env: dict[str, str], *arguments: str) -> Iterator[Worker]:
    """A process worker of the pool ``huginn`` that stands in ``folder``."""
    mark = uuid.uuid4().hex
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "prefect", "--no-prompt", "worker", "start"),
                *("--pool", "huginn", "--type", "process", "--name", name, *arguments),
            ],
            env={
                **env,
                _MARK: mark,
                "PREFECT_WORKER_QUERY_SECONDS": "2",
                "PREFECT_LOGGING_LEVEL": "INFO",
                "OMP_NUM_THREADS": "1",
            },
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    worker = Worker(name, mark, process, log)
    try:
        with ended_with_this_process(process.pid):
            yield worker
    finally:
        worker.die()


def _pids() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def _bears(pid: int, mark: str) -> bool:
    """Whether it was started with the mark; one that has ended meanwhile does not count."""
    with suppress(OSError):
        return f"{_MARK}={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False
