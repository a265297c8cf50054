"""Finds the Weaviate server that Huginn runs, or gets it once for good (spec 1.4).

In order: the configured path, ``weaviate-server`` on PATH, the cache, the client's release
download, ``go install``. Whatever comes up is asked for its version before it may see any data:
another version could rewrite the data folder for good.
"""

import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from search import binary_build, binary_release
from search.errors import PermanentError, SettingsError
from search.locking import locked
from search.settings import WEAVIATE_VERSION, Settings

Progress = Callable[[str], None]

PROGRAM = "weaviate-server"
_ANSWER_SECONDS = 30
_STATED = re.compile(rb'"build_wv_version":"([^"]+)"')
# No version flag exists, but every log line carries it. A limit that is no number makes the server
# complain, in the log, and exit before it opens a port or its data folder.
_NONSENSE = {"QUERY_DEFAULTS_LIMIT": "none", "CLUSTER_GOSSIP_BIND_PORT": "none"}


def find_binary(settings: Settings, progress: Progress) -> Path:
    """The path of a ``weaviate-server`` of exactly the pinned version.

    ``progress`` gets lines of text while a download or a build goes on. Of two processes that
    find none, one gets it and the other waits.

    Raises:
        SettingsError: ``weaviate.binary`` names no program of that version.
        PermanentError: there is none and none could be had; says what was tried and what to do.
    """
    if settings.weaviate.binary is not None:
        return _configured(settings.weaviate.binary.expanduser().absolute())
    tried: list[str] = []
    on_path = shutil.which(PROGRAM)
    if on_path is None:
        tried.append(f"PATH: there is no {PROGRAM} on it")
    else:
        reason = _unfit(Path(on_path))
        if reason is None:
            return Path(on_path).absolute()
        tried.append(f"PATH: {on_path} {reason}")
    cached = cached_path(settings)
    if _unfit(cached) is None:
        return cached
    return _obtained(cached, tried, progress)


def cached_path(settings: Settings) -> Path:
    """Where the cache keeps the server of this version for this kind of machine."""
    name = f"{PROGRAM}-{WEAVIATE_VERSION}-{platform.system()}-{platform.machine()}".lower()
    return settings.cache_dir.expanduser().absolute() / "weaviate" / name


def stated_version(binary: Path) -> str | None:
    """The version that the program itself states, None when it is no Weaviate server.

    Takes about half a second, opens no port and writes nothing.
    """
    with tempfile.TemporaryDirectory(prefix="huginn-") as folder:
        try:
            answer = subprocess.run(
                [binary, "--scheme", "http", "--host", "127.0.0.1"],
                env={"PERSISTENCE_DATA_PATH": folder, "DISABLE_TELEMETRY": "true"} | _NONSENSE,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_ANSWER_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    stated = _STATED.search(answer.stdout + answer.stderr)
    return stated[1].decode() if stated else None


def _unfit(binary: Path) -> str | None:
    """Why the program cannot be used, None when it can."""
    if not binary.is_file():
        return "is not a file"
    if not os.access(binary, os.X_OK):
        return "is not executable"
    version = stated_version(binary)
    if version is None:
        return "does not answer like a Weaviate server"
    if version != WEAVIATE_VERSION:
        return f"is version {version}, not {WEAVIATE_VERSION}"
    return None


def _configured(binary: Path) -> Path:
    reason = _unfit(binary)
    if reason is not None:
        fix = f"Name a {PROGRAM} {WEAVIATE_VERSION}, or drop the setting to let Huginn get one."
        raise SettingsError("weaviate.binary", f"{binary} {reason}", fix)
    return binary


def _obtained(cached: Path, tried: list[str], progress: Progress) -> Path:
    try:
        cached.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{cached.parent}: {error.strerror}"
        raise SettingsError("cache_dir", reason, "Name a folder that can be written.") from error
    wait_note = f"another process is getting Weaviate {WEAVIATE_VERSION}: waiting for it"
    with locked(cached.parent / "build.lock", waiting=lambda: progress(wait_note)):
        if _unfit(cached) is None:
            return cached
        for leftover in cached.parent.glob("making-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        for name, obtain in (
            ("download", binary_release.download),
            ("go install", binary_build.go_install),
        ):
            with tempfile.TemporaryDirectory(prefix="making-", dir=cached.parent) as folder:
                try:
                    made = obtain(Path(folder), progress)
                except binary_release.NotObtained as error:
                    tried.append(f"{name}: {error}")
                    continue
                flaw = _unfit(made)
                if flaw is None:
                    return _kept(made, cached)
                tried.append(f"{name}: what came of it {flaw}")
    raise PermanentError(_nothing_found(tried))


def _kept(made: Path, cached: Path) -> Path:
    """Moves the finished program into the cache: it is there whole or not at all."""
    with made.open("rb") as content:
        os.fsync(content.fileno())
    made.replace(cached)
    folder = os.open(cached.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return cached


def _nothing_found(tried: list[str]) -> str:
    reasons = "\n".join(f"  - {line}" for line in tried)
    return (
        f"no Weaviate {WEAVIATE_VERSION} to run. Tried:\n{reasons}\n"
        f"Do one of these: install Go {binary_build.GO_VERSION} or newer and try again; put a "
        f"{PROGRAM} {WEAVIATE_VERSION} on PATH; name one as weaviate.binary in huginn.toml; or set "
        f"weaviate.url to a Weaviate that runs elsewhere."
    )
