"""The embedded server as a process: its environment, its start, and whether it lives."""

import os
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from search.embedded_home import Home, Server
from search.embedded_keys import Keys
from search.embedded_ports import Ports
from search.errors import PermanentError
from search.settings import WEAVIATE_VERSION

WRITER, READER = "huginn-writer", "huginn-reader"
NODE = "huginn"  # Raft's state names it: the same data needs the same name
MARK = {"STARTED_BY": "huginn"}
# All that the server sees of the caller's environment: no secret, nothing meant for another server.
_INHERITED = ("PATH", "HOME", "TMPDIR", "TZ", "LANG", "GOMAXPROCS", "GOMEMLIMIT", "GOGC")
READ_ONLY_PERCENT = 97
"""The share of a disk in use from which the server takes no more writes."""

_SAME_START_SECONDS = 2.0  # the boot time that it is counted from is told in whole seconds
_POLL_SECONDS = 0.05
_children: list["subprocess.Popen[bytes]"] = []  # kept to be reaped, and so that none is collected


def environment(home: Home, ports: Ports, keys: Keys, base: Mapping[str, str]) -> dict[str, str]:
    """The server's whole environment (docs/decisions/0002-embedded-weaviate.md has the reasons)."""
    return {
        **{name: base[name] for name in _INHERITED if name in base},
        **MARK,
        "PERSISTENCE_DATA_PATH": str(home.data),
        "HOST": Server.address,
        "PORT": str(ports.http),
        "GRPC_PORT": str(ports.grpc),
        "CLUSTER_HOSTNAME": NODE,
        "CLUSTER_IN_LOCALHOST": "true",
        "CLUSTER_BIND_ADDR": Server.address,
        "CLUSTER_ADVERTISE_ADDR": Server.address,
        "CLUSTER_GOSSIP_BIND_PORT": str(ports.gossip),
        "CLUSTER_DATA_BIND_PORT": str(ports.data),
        "CLUSTER_BASIC_AUTH_USERNAME": NODE,
        "CLUSTER_BASIC_AUTH_PASSWORD": keys.cluster,
        "RAFT_PORT": str(ports.raft),
        "RAFT_INTERNAL_RPC_PORT": str(ports.rpc),
        "RAFT_JOIN": f"{NODE}:{ports.raft}",
        "RAFT_BOOTSTRAP_EXPECT": "1",
        "RAFT_TIMEOUTS_MULTIPLIER": "1",
        "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "false",
        "AUTHENTICATION_APIKEY_ENABLED": "true",
        "AUTHENTICATION_APIKEY_ALLOWED_KEYS": f"{keys.writer},{keys.reader}",
        "AUTHENTICATION_APIKEY_USERS": f"{WRITER},{READER}",
        "AUTHORIZATION_ADMINLIST_ENABLED": "true",
        "AUTHORIZATION_ADMINLIST_USERS": WRITER,
        "AUTHORIZATION_ADMINLIST_READONLY_USERS": READER,
        "CORS_ALLOW_ORIGIN": f"http://{Server.address}",
        "AUTOSCHEMA_ENABLED": "false",
        "ASYNC_INDEXING": "false",
        "ENABLE_MODULES": "",
        "API_BASED_MODULES_DISABLED": "true",
        "DISABLE_TELEMETRY": "true",
        "GO_PROFILING_DISABLE": "true",
        "DISK_USE_WARNING_PERCENTAGE": "90",
        "DISK_USE_READONLY_PERCENTAGE": str(READ_ONLY_PERCENT),
        "LOG_LEVEL": "warning",
    }


def spawn(home: Home, binary: Path, ports: Ports, keys: Keys) -> Server:
    """Starts the server in a session of its own, so that Ctrl-C spares it; does not wait for it.

    The log starts anew; the one before it is kept as ``weaviate.log.1``.
    """
    with suppress(FileNotFoundError):
        home.log.replace(home.log.with_suffix(".log.1"))
    descriptor = os.open(home.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = subprocess.Popen(
            [binary, "--scheme", "http"],
            env=environment(home, ports, keys, os.environ),
            cwd=home.run,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,
        )
    except OSError as error:
        message = f"{binary} cannot be run ({error.strerror}): remove or replace it."
        raise PermanentError(message) from error
    finally:
        os.close(descriptor)
    _children.append(child)
    try:
        created = psutil.Process(child.pid).create_time()
    except psutil.Error:  # gone already: whoever waits for it finds out
        created = 0.0
    return Server(
        pid=child.pid,
        created=created,
        ports=ports,
        version=WEAVIATE_VERSION,
        binary=str(binary),
    )


def process_of(server: Server) -> psutil.Process | None:
    """The server's process if it lives and is the very one that was started."""
    try:
        process = psutil.Process(server.pid)
        started = process.create_time()
    except (psutil.Error, ValueError):
        return None
    same = abs(started - server.created) < _SAME_START_SECONDS
    return process if same and is_live(process) else None


def is_live(process: psutil.Process) -> bool:
    """Whether it runs. One that ended but was not reaped by whoever started it does not."""
    _children[:] = [child for child in _children if child.poll() is None]
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def still_live(processes: Iterable[psutil.Process], timeout: float) -> list[psutil.Process]:
    """Those that still run after at most ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    left = [process for process in processes if is_live(process)]
    while left and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        left = [process for process in left if is_live(process)]
    return left


def listens_on(process: psutil.Process) -> set[int]:
    """The TCP ports on which this very process listens."""
    try:
        connections = process.net_connections(kind="tcp")
    except psutil.Error:
        return set()
    return {one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN}
