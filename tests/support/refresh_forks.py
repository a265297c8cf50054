"""Runs of ``huginn`` as real processes that begin at once: forks of one that has loaded everything.

A process that imports Prefect and the model needs half a minute on a small machine; sixty kills
would take half an hour of imports. The parent holds no client, no thread and no connection. Its
steps are smaller than the product's, so that little work takes many of them.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.strikes import Strike

ROOT = Path(__file__).parents[2]
_PARENT = """
import os, sys, json
os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
import torch
torch.set_num_threads(1)
from pathlib import Path
from flows.cli import main
import flows.refresh, flows.verify, flows.display, weaviate, nio, git, weaviate.classes
from search.settings import load_settings
from tasks import repo_files, room_events, room_sweep
from tasks.adapters import matrix_room, passage_writer
from tasks.bootstrap import embedder_of, scrubber_of
from tests.support import strikes
embedder_of(load_settings().embedder).embed(["warm"], "document")
scrubber_of()
repo_files.MOST_FILES, room_events.MOST_EVENTS, room_sweep.AT_ONCE = 8, 24, 12
matrix_room.PAGE_EVENTS, passage_writer.BATCH = 12, 5
strikes.watch()
print("ready", flush=True)
for line in sys.stdin:
    ordered = json.loads(line)
    pid = os.fork()
    if pid == 0:
        out = os.open(ordered["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(out, 1), os.dup2(out, 2), os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.update(ordered["environment"])
        planned = [strikes.Strike(**each) for each in ordered["strikes"]]
        strikes.arm(planned, Path(ordered["report"]))
        code = 0
        try:
            main(ordered["arguments"])
        except SystemExit as end:
            code = int(end.code or 0)
        sys.stdout.flush()
        strikes.ended(code)
        os._exit(code)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Run:
    """One of them; ``code`` is its exit code once it has ended, negative for a signal."""

    def __init__(self, parent: "Forks", report: Path) -> None:
        self.pid = int(parent.line())
        self.code: int | None = None
        self._report = report
        self._thread = threading.Thread(target=self._wait, args=(parent,))
        self._thread.start()

    def _wait(self, parent: "Forks") -> None:
        self.code = int(parent.line())

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it has ended within the time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def told(self) -> list[dict[str, Any]]:
        """What ``tests.support.strikes`` reported of it: each strike, then its end."""
        if not self._report.exists():
            return []
        return [json.loads(line) for line in self._report.read_text().splitlines()]


class Forks:
    """The parent; ended with the block, one run at a time."""

    def __init__(self, config: Path, folder: Path, **environment: str) -> None:
        """``config`` is a settings file; what the runs say goes into ``folder``."""
        self._folder, self._started = folder, 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PARENT],
            env={
                **os.environ,
                "HUGINN_CONFIG": str(config),
                "PYTHONPATH": str(ROOT),
                **environment,
            },
            cwd=config.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        if self.line() != "ready":
            raise RuntimeError("the parent did not start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def line(self) -> str:
        """The next line that it says."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def start(
        self, *arguments: str, config: Path, strikes: Sequence[Strike] = (), **environment: str
    ) -> Run:
        """``huginn`` with these arguments, struck so; its output is appended to ``runs.log``."""
        self._started += 1
        report = self._folder / f"run-{self._started}.jsonl"
        report.unlink(missing_ok=True)
        ordered = {
            "log": str(self._folder / "runs.log"),
            "report": str(report),
            "strikes": [asdict(each) for each in strikes],
            "arguments": [*arguments, "--config", str(config)],
            "environment": {"HUGINN_CONFIG": str(config), **environment},
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(ordered) + "\n")
        self._process.stdin.flush()
        return Run(self, report)
