"""One real Weaviate for a test session, started through the code that users run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from search import embedded
from search.binary import find_binary
from search.settings import Settings, WeaviateSettings

BINARY_VARIABLE = "HUGINN_TEST_WEAVIATE_BINARY"


def say(line: str) -> None:
    """Shown by pytest when a test that needed the server fails."""
    print(line)  # noqa: T201  # pytest captures it


def weaviate_binary() -> Path:
    """The server to test with: named in the environment, on PATH, cached, or built now."""
    named = os.environ.get(BINARY_VARIABLE)
    return Path(named).absolute() if named else find_binary(Settings(), say)


def settings_in(folder: Path, binary: Path, **weaviate: float) -> Settings:
    """Settings with every folder under ``folder``, which find the server at ``binary``."""
    return Settings(
        data_dir=folder / "data",
        cache_dir=folder / "cache",
        weaviate=WeaviateSettings.model_validate({"binary": binary, **weaviate}),
    )


@contextmanager
def running_server(settings: Settings) -> Iterator[embedded.Server]:
    """The embedded server for the block; ended with it, and with this process however it ends."""
    server = embedded.ensure_running(settings, say)
    try:
        with ended_with_this_process(server.pid):
            yield server
    finally:
        embedded.stop(settings)


@contextmanager
def ended_with_this_process(pid: int) -> Iterator[None]:
    """A shell that waits for a line on a pipe: when this process dies, it gets none and kills."""
    guard = subprocess.Popen(
        ["/bin/sh", "-c", f"read line || kill -9 {pid}"],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield
    finally:
        guard.communicate(b"done\n")


def child(
    action: str, settings: Settings, *, environment: dict[str, str] | None = None
) -> "subprocess.Popen[str]":
    """Another process that does ``action`` (see ``embedded_child``) with the same settings."""
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.support.embedded_child",
            action,
            settings.data_dir.parent,
            str(settings.weaviate.binary),
            str(settings.weaviate.start_timeout),
        ],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
