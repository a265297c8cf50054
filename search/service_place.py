"""Where a look-up service is reached, which one is asked, and whether it is still up to date.

Standard library only: the thin client and the service work all of it out by themselves, each
from its own environment, and so agree without a state file (spec 6.8).

``key`` tells services apart: another settings file, folder or installation is another service.
``fingerprint`` tells an old service from its caller: the code or the content of the settings has
changed since it started. A secret's value is part of no name and no message, only of a digest.
"""

import hashlib
import os
import re
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from search.config_file import CONFIG_VARIABLE, config_path
from search.errors import PermanentError

_LONGEST_SOCKET = 100  # bytes; sockaddr_un has room for 108 on Linux and 104 on macOS
_OTHERS = 0o077
_SECRET = re.compile(r"KEY|TOKEN|PASSWORD|SECRET")
_FOLDERS = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
_RELATIVE = re.compile(
    rb"^\s*(?:data_dir|cache_dir|binary|\w+_file)\s*=\s*[\"'](?![/~])", re.MULTILINE
)
CODE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Place:
    """The private folder, and in it the files of the service with that ``key``.

    ``lock`` is held for as long as the service lives, ``starting`` while a client starts it.
    """

    folder: Path
    key: str
    config: Path | None
    user: int = field(default_factory=os.geteuid)

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / f"{self.key}.sock"

    @property
    def lock(self) -> Path:
        """Held by the one service that may bind the socket."""
        return self.folder / f"{self.key}.lock"

    @property
    def starting(self) -> Path:
        """Held by the one client that starts the service."""
        return self.folder / f"{self.key}.start"


def place_of(named: Path | None) -> Place:
    """The place for the settings in force here and now; its folder is made and is ours alone.

    Raises:
        SettingsError: the settings file that is named is missing.
        PermanentError: there is no folder that only we can use.
    """
    config = config_path(named)
    config = config.resolve() if config else None
    return Place(_runtime_folder(), _key(config), config)


def fingerprint_of(place: Place) -> str:
    """Digest of the code's files and of everything that settings are made from, secrets too."""
    digest = hashlib.sha256()
    for entry in sorted(os.scandir(CODE), key=lambda entry: entry.name):
        if entry.name.endswith(".py"):
            facts = entry.stat()
            digest.update(f"{entry.name} {facts.st_mtime_ns} {facts.st_size}\n".encode())
    digest.update(place.config.read_bytes() if place.config else b"")
    digest.update("\n".join(_variables(secret=True)).encode(errors="surrogateescape"))
    return digest.hexdigest()


def _key(config: Path | None) -> str:
    parts = [str(config), sys.prefix, str(CODE), *_variables(secret=False)]
    if _is_relative(config):
        parts.append(str(Path.cwd()))
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[:16]


def _variables(*, secret: bool) -> Iterator[str]:
    """``NAME=value`` of every variable that settings depend on; secret ones only when asked."""
    for name in sorted(os.environ):
        ours = name.startswith("HUGINN_") and name != CONFIG_VARIABLE
        if (ours or name in _FOLDERS) and (secret or not _SECRET.search(name)):
            yield f"{name}={os.environ[name]}"
    if secret:
        yield f"CREDENTIALS_DIRECTORY={os.environ.get('CREDENTIALS_DIRECTORY')}"


def _is_relative(config: Path | None) -> bool:
    """Whether a path in the settings starts where the caller stands."""
    paths = ("HUGINN_DATA_DIR", "HUGINN_CACHE_DIR", "HUGINN_WEAVIATE__BINARY")
    values = [os.environ.get(name) for name in paths]
    if any(value and not value.startswith(("/", "~")) for value in values):
        return True
    return config is not None and _RELATIVE.search(config.read_bytes()) is not None


def _runtime_folder() -> Path:
    """``$XDG_RUNTIME_DIR/huginn``, or the like: 0700, ours, short enough for a socket's address."""
    user = os.geteuid()
    named = os.environ.get("XDG_RUNTIME_DIR")
    usual = Path(f"/run/user/{user}")
    candidates = [Path(named)] if named else []
    candidates += [usual] if usual.is_dir() and usual.stat().st_uid == user else []
    for base in candidates:
        folder = base / "huginn"
        if base.is_dir() and len(os.fsencode(folder)) + len("/0123456789abcdef.sock") < (
            _LONGEST_SOCKET
        ):
            return _private(folder)
    return _private(Path(f"/tmp/huginn-{user}"))  # noqa: S108  # checked to be ours alone


def _private(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
        if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid():
            if facts.st_mode & _OTHERS:
                folder.chmod(0o700)
            return folder
    except OSError as error:
        raise PermanentError(
            f"{folder} cannot be made ({error.strerror}). Set XDG_RUNTIME_DIR, or use --no-serve."
        ) from error
    raise PermanentError(
        f"{folder} belongs to somebody else. Remove it, set XDG_RUNTIME_DIR, or use --no-serve."
    )


def process_at(connection: socket.socket) -> tuple[int | None, int]:
    """The process and the user at the other end of a Unix socket, as the kernel tells."""
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("3i")
        facts = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        process, user, _ = struct.unpack("3i", facts)
        return process, user
    return None, os.geteuid()  # elsewhere the modes of the folder and the socket have to do
