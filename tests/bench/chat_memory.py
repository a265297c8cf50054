"""Peak memory of a refresh: a room of short messages, then another of ten times as many.

    python -m tests.bench.chat_memory --work FOLDER [--sizes 5000 50000]

To send that many into a real homeserver would take hours, so an HTTP server on 127.0.0.1 answers
in its place (``tests/support/made_homeserver.py``); the reader's client, the flow, the model and
Weaviate are the real ones. Few bodies and speakers repeat, so that little time goes into the model;
windows are as many as in any room. Each room is read by ``huginn refresh`` in a process of its own
into a collection of its own; its VmHWM is read until it ends (servers have their own). Then the
room grows by one message and is refreshed again. The model's own memory is that of a process that
loads the embedder and embeds as many texts as a refresh hands over at once.

``HUGINN_TEST_WEAVIATE_BINARY`` names a server to run, as for the tests.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.settings import Settings
from tests.support.community import Community
from tests.support.made_homeserver import MadeHomeserver, made_homeserver
from tests.support.prefect_api import running_api
from tests.support.weaviate_server import running_server, settings_in, weaviate_binary

_HUGINN = "from flows.cli import main; main()"
MOST = 1.3
"""The highest ratio of the peaks (issue: chat, whole)."""

_MODEL = """
from search.settings import load_settings
from tasks.bootstrap import embedder_of
from tasks.vectorise import AT_ONCE
embedder = embedder_of(load_settings().embedder)
line = "ada: the ravens fly out over the world every day and tell what they have seen "
embedder.embed([f"{number} {line * 14}" for number in range(AT_ONCE)], "document")
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """A process: its highest and its successive resident sizes in kB, what it said, its seconds."""

    peak: int
    sizes: list[int]
    output: str
    seconds: float

    def at(self, share: float) -> int:
        """The highest resident size of the first share of the time, in MB."""
        count = max(int(len(self.sizes) * share), 1)
        return max(self.sizes[:count], default=0) // 1024


def say(line: str) -> None:
    """To standard output, at once."""
    print(line, flush=True)  # noqa: T201  # a script


def run(command: Sequence[str], environment: Mapping[str, str]) -> Ran:
    """Runs it to its end and looks at it ten times a second."""
    began = time.monotonic()
    peak, sizes = 0, []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            found = _sizes(status)
            if found:
                peak = max(peak, found["VmHWM"])
                sizes.append(found["VmRSS"])
            time.sleep(0.1)
        assert process.stdout is not None
        output = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}: {output}")
    return Ran(peak, sizes, output, time.monotonic() - began)


def _sizes(status: Path) -> dict[str, int]:
    try:
        lines = [line.split() for line in status.read_text().splitlines()]
    except OSError:
        return {}
    found = {name[0].rstrip(":"): int(name[1]) for name in lines if name[0] in ("VmHWM:", "VmRSS:")}
    return found if len(found) == 2 else {}  # a process that ends has none


def refreshed(
    community: Community, environment: Mapping[str, str], made: MadeHomeserver, title: str
) -> Ran:
    """``huginn refresh`` in a process of its own, and a line about it."""
    made.asked.clear()
    words = ["refresh", "--json", "--config", str(community.config())]
    ran = run([sys.executable, "-c", _HUGINN, *words], environment)
    counts: dict[str, Any] = json.loads(ran.output)["sources"][0]["counts"]
    say(
        f"| {title} | {made.messages + made.more} | {counts['events']} | {counts['written']} | "
        f"{counts['embedded']} | {counts['reused']} | {sum(made.asked.values())} | "
        f"{ran.peak / 1024:.0f} | {ran.seconds:.0f} |"
    )
    return ran


def room(settings: Settings, work: Path, messages: int, environment: Mapping[str, str]) -> Ran:
    """The first read of a room, and a run after one more message; gives the first."""
    place = work / f"room-{messages}"
    place.mkdir(parents=True)
    token = place / "token"
    token.write_text("a-token-of-no-use-elsewhere")
    token.chmod(0o600)
    community = Community(place, settings, f"Room{messages}")
    with made_homeserver(messages) as made:
        community.matrix = {
            "homeserver": made.url,
            "user": made.reader,
            "token_file": str(token),
        }
        first = refreshed(community, environment, made, "first read")
        made.more += 1
        refreshed(community, environment, made, "one more message")
    return first


def main() -> int:
    """Prints the table; the exit code is 1 if the ratio is over ``MOST``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 50_000])
    options = parser.parse_args()
    work = options.work.absolute()
    home = work / "prefect"
    home.mkdir(parents=True)
    settings = settings_in(work / "huginn", weaviate_binary(), start_timeout=300)
    with running_server(settings), running_api(home) as api:
        environment = os.environ | {"PREFECT_API_URL": api, "PREFECT_HOME": str(home)}
        say("| run | messages | events | written | embedded | reused | requests | peak MB | s |")
        say("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        rooms = [room(settings, work, each, environment) for each in options.sizes]
        model = run([sys.executable, "-c", _MODEL], environment)
    say(f"| the model alone | | | | 256 | | | {model.peak / 1024:.0f} | {model.seconds:.0f} |")
    for ran, messages in zip(rooms, options.sizes, strict=True):
        marks = ", ".join(f"{ran.at(share / 5)}" for share in range(1, 6))
        say(f"\n{messages} messages: highest MB after each fifth of the time: {marks}")
    ratio = rooms[-1].peak / rooms[0].peak
    rest = (rooms[-1].peak - model.peak) / max(rooms[0].peak - model.peak, 1)
    say(f"\nratio of the last peak to the first {ratio:.2f}; without the model's own {rest:.2f}")
    return 1 if ratio > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
