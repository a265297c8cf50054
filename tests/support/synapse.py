"""A real Synapse on 127.0.0.1, for one test session, and people who use it.

The homeserver's folder holds everything of it but the port, so a stopped one may be copied and
started again from the copy (``running_synapse(copied(folder, to))``): large rooms are sent once.
"""

import json
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from tests.support.synapse_community import SERVER, People
from tests.support.synapse_install import synapse_python
from tests.support.weaviate_server import ended_with_this_process

START_SECONDS = 120
_LOG = "access.log"
_LINE = re.compile(r'- \{(?P<who>[^}]*)\} Processed .* "(?P<method>[A-Z]+) (?P<path>\S+) [^"]*" "')


class Synapse(People):
    """A running homeserver. See ``People`` for what can be done on it."""

    def __init__(
        self, folder: Path, port: int, token: str, process: "subprocess.Popen[bytes]"
    ) -> None:
        super().__init__(f"http://127.0.0.1:{port}", token)
        self.folder = folder
        self.port = port
        self.process = process

    def requests(self, who: str | None = None, since: int = 0) -> list[tuple[str, str]]:
        """(method, path with query) of each request so far, of all or of the one user id.

        ``since`` is what ``mark`` gave before.
        """
        self.mark()
        found = []
        with (self.folder / _LOG).open("rb") as log:
            log.seek(since)
            for line in log.read().decode().splitlines():
                match = _LINE.search(line)
                if match and "/versions?mark=" not in line and who in (None, match["who"]):
                    found.append((match["method"], match["path"]))
        return found

    def mark(self) -> int:
        """A place in the request log: all that was answered before lies before it."""
        sign = secrets.token_hex(8)
        self.http.get("/_matrix/client/versions", params={"mark": sign}).raise_for_status()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            text = (self.folder / _LOG).read_bytes()
            at = text.find(sign.encode())
            if at >= 0:
                return text.index(b"\n", at) + 1
            time.sleep(0.01)
        raise RuntimeError("Synapse does not write its request log")


@contextmanager
def running_synapse(folder: Path) -> Iterator[Synapse]:
    """The homeserver of ``folder``, made there when there is none; ended with the block.

    It ends with this process too, however that ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    token = _application_service(folder)
    (folder / _LOG).touch()
    with ExitStack() as ending:
        port, process = _started(folder, ending)
        synapse = Synapse(folder, port, token, process)
        ending.callback(synapse.close)
        yield synapse


def _started(folder: Path, ending: ExitStack) -> "tuple[int, subprocess.Popen[bytes]]":
    """A Synapse that answers, and its port; ``ending`` ends it."""
    output = ending.enter_context((folder / "output.log").open("ab"))
    for _ in range(3):  # somebody else may take the free port first
        port = _free_port()
        config = _configuration(folder, port)
        command = [str(synapse_python()), "-m", "synapse.app.homeserver", "-c", str(config)]
        if not (folder / "signing.key").exists():
            subprocess.run([*command, "--generate-keys"], check=True, stdout=output, stderr=output)
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder
        )
        ending.callback(_end, process)
        ending.enter_context(ended_with_this_process(process.pid))
        if _answers(port, process):
            return port, process
    raise RuntimeError(f"Synapse did not start:\n{(folder / 'output.log').read_text()[-3000:]}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(120)


def copied(folder: Path, to: Path) -> Path:
    """A copy of a stopped homeserver: same rooms, event ids, tokens and times."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns(_LOG, "output.log", "*.pid"))
    return to


def _application_service(folder: Path) -> str:
    """Registers one that may speak as anybody, at any time (``?ts=``); gives its token."""
    file = folder / "speakers.yaml"
    if not file.exists():
        everybody = [{"exclusive": False, "regex": f"@.*:{SERVER}"}]
        any_alias = [{"exclusive": False, "regex": f"#.*:{SERVER}"}]
        content = {
            "id": "speakers",
            "url": None,
            "as_token": secrets.token_hex(16),
            "hs_token": secrets.token_hex(16),
            "sender_localpart": "speakers",
            "rate_limited": False,
            "namespaces": {"users": everybody, "aliases": any_alias, "rooms": []},
        }
        file.write_text(json.dumps(content))
    return str(json.loads(file.read_text())["as_token"])


def _configuration(folder: Path, port: int) -> Path:
    """Written anew at each start, as JSON, which is YAML too."""
    often = {"per_second": 100_000, "burst_count": 100_000}
    content = {
        "server_name": SERVER,
        "listeners": [
            {
                "port": port,
                "type": "http",
                "bind_addresses": ["127.0.0.1"],
                "resources": [{"names": ["client"]}],
            }
        ],
        "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.db")}},
        "media_store_path": str(folder / "media"),
        "pid_file": str(folder / "homeserver.pid"),
        "log_config": str(_logging(folder)),
        "signing_key_path": str(folder / "signing.key"),
        "registration_shared_secret": "only in tests",
        "macaroon_secret_key": "only in tests",
        "form_secret": "only in tests",
        "app_service_config_files": [str(folder / "speakers.yaml")],
        "report_stats": False,
        "trusted_key_servers": [],
        "federation_domain_whitelist": [],
        "require_auth_for_profile_requests": True,
        "rc_message": often,
        "rc_registration": often,
        "rc_login": {"address": often, "account": often, "failed_attempts": often},
        "rc_joins": {"local": often, "remote": often},
        "rc_joins_per_room": often,
        "rc_admin_redaction": often,
        "rc_invites": {"per_room": often, "per_user": often, "per_issuer": often},
        "rc_room_creation": often,
    }
    file = folder / "homeserver.yaml"
    file.write_text(json.dumps(content))
    return file


def _logging(folder: Path) -> Path:
    handlers = {
        "requests": {
            "class": "logging.FileHandler",
            "formatter": "plain",
            "filename": str(folder / _LOG),
        },
        "output": {"class": "logging.StreamHandler", "formatter": "plain", "level": "WARNING"},
    }
    content = {
        "version": 1,
        "formatters": {"plain": {"format": "%(levelname)s %(message)s"}},
        "handlers": handlers,
        "loggers": {
            "synapse.access": {"level": "INFO", "handlers": ["requests"], "propagate": False}
        },
        "root": {"level": "WARNING", "handlers": ["output"]},
        "disable_existing_loggers": False,
    }
    file = folder / "logging.yaml"
    file.write_text(json.dumps(content))
    return file


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def _answers(port: int, process: "subprocess.Popen[bytes]") -> bool:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"http://127.0.0.1:{port}/_matrix/client/versions", timeout=30)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return process.poll() is None
    return False
