"""Runs of ``huginn`` as real processes that begin at once: forks of one that has loaded everything.

A process that imports Prefect and the model needs half a minute on a small machine; sixty kills
would take half an hour of imports. The parent holds no client, no thread and no connection.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]
_PARENT = """
import os, sys, json
os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
import torch
torch.set_num_threads(1)
from flows.cli import main
import flows.refresh, flows.verify, flows.display, weaviate, nio, git, weaviate.classes
from search.settings import load_settings
from tasks.bootstrap import embedder_of, scrubber_of
embedder_of(load_settings().embedder).embed(["warm"], "document")
scrubber_of()
print("ready", flush=True)
for line in sys.stdin:
    log, *arguments = json.loads(line)
    pid = os.fork()
    if pid == 0:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(out, 1), os.dup2(out, 2), os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        try:
            main(arguments)
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(int(end.code or 0))
        os._exit(0)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Run:
    """One of them; ``code`` is its exit code once it has ended, negative for a signal."""

    def __init__(self, parent: "Forks") -> None:
        self.pid = int(parent.line())
        self.code: int | None = None
        self._thread = threading.Thread(target=self._wait, args=(parent,))
        self._thread.start()

    def _wait(self, parent: "Forks") -> None:
        self.code = int(parent.line())

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it has ended within the time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()


class Forks:
    """The parent; ended with the block, one run at a time."""

    def __init__(self, config: Path, log: Path, **environment: str) -> None:
        """``config`` is a settings file; what the runs say goes to ``log``."""
        self._log = log
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

    def start(self, *arguments: str, config: Path | None = None) -> Run:
        """``huginn`` with these arguments."""
        more: Sequence[str] = ("--config", str(config)) if config else ()
        assert self._process.stdin is not None
        import json

        self._process.stdin.write(json.dumps([str(self._log), *arguments, *more]) + "\n")
        self._process.stdin.flush()
        return Run(self)
