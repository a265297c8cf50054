"""Finds who uses the data folder when ``server.json`` does not tell (spec 1.4)."""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from search.embedded_home import Home, Server, recorded
from search.embedded_ports import Ports
from search.embedded_process import MARK, is_live, process_of
from search.settings import WEAVIATE_VERSION

_LOCKED_FILES = ("schema.db", "raft/raft.db")  # Weaviate keeps a lock on them for its life


def ours(home: Home) -> Iterator[Server]:
    """Live servers that Huginn started on this data folder; not known to be ready."""
    for process, seen in _users_of(home):
        if MARK.items() <= seen.items():
            try:
                yield Server(
                    pid=process.pid,
                    created=process.create_time(),
                    ports=_ports_in(seen),
                    version=WEAVIATE_VERSION,
                    binary=process.exe(),
                )
            except (psutil.Error, KeyError, ValueError):
                continue


def live(home: Home) -> Iterator[Server]:
    """The recorded server if it lives, then every one of ours (it may come twice)."""
    server = recorded(home)
    if server is not None and process_of(server) is not None:
        yield server
    yield from ours(home)


def foreign(home: Home) -> str | None:
    """Another process on the data folder, in words with its pid where it can be had."""
    for process, seen in _users_of(home):
        with suppress(psutil.Error):
            if not MARK.items() <= seen.items() and "weaviate" in process.name():
                return f"pid {process.pid}"
    for path in (home.data / name for name in _LOCKED_FILES):
        if _is_locked(path):
            pid = _locker(path)
            return "a process that cannot be seen from here" if pid is None else f"pid {pid}"
    return None


def _users_of(home: Home) -> Iterator[tuple[psutil.Process, Mapping[str, str]]]:
    """Live processes of this user that were given the data folder, with their environment."""
    for process in psutil.process_iter():
        try:
            seen = process.environ()
            given = seen.get("PERSISTENCE_DATA_PATH")
            if not given or not is_live(process):
                continue
            if (Path(process.cwd()) / given).resolve() == home.data:
                yield process, seen
        except (psutil.Error, OSError):
            continue


def _ports_in(seen: Mapping[str, str]) -> Ports:
    names = ("PORT", "GRPC_PORT", "CLUSTER_GOSSIP_BIND_PORT", "RAFT_PORT")
    return Ports(*(int(seen[name]) for name in names))


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _locker(path: Path) -> int | None:
    """Linux lists who holds a lock, of other users too (proc_locks(5)); None elsewhere."""
    try:
        inode = path.stat().st_ino
        locks = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return None
    held = re.search(rf"^\d+: FLOCK +\S+ +\S+ +(\d+) +\S+:{inode} ", locks, re.MULTILINE)
    return int(held[1]) or None if held else None
