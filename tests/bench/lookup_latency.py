"""How long a look-up takes: `uv run python -m tests.bench.lookup_latency [--config FILE]`.

Uses the collection that the settings in force lead to, which has to be ingested. Prints, in
milliseconds: the whole process of a warm look-up and of ``--help``; inside the service, a look-up
against the time that the model and Weaviate's hybrid query take in it; eight texts against one.
"""

import argparse
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from search import client, service_start
from search.embedding import Embedder
from search.reader import Reader
from search.service import Service, encode_on_one_core
from search.service_place import Place, place_of
from search.service_wire import Server
from search.settings import load_settings

TEXTS = [
    "how is the signing key rotated",
    "when does a cursor move",
    "what happens when the server does not answer",
    "how are secrets taken out of messages",
    "which settings does the search have",
    "how are results of several questions fused",
    "where is the log of the server",
    "what is a window of messages",
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    encode_on_one_core()
    place = place_of(options.config)
    if not client.is_listening(place):
        service_start.start(place, say)
    more = ["--config", str(options.config)] if options.config else []
    _print("whole process, warm", _processes([TEXTS[0], *more], options.runs))
    _print("whole process, --help", _processes(["--help"], options.runs))
    with _service(options.config) as (own, answered, spent):
        one = [_inside(own, answered, spent, TEXTS[:1]) for _ in range(options.runs)]
        eight = [_inside(own, answered, spent, TEXTS) for _ in range(options.runs)]
    _print("service, one text", [whole for whole, _ in one])
    _print("  of it model and hybrid query", [parts for _, parts in one])
    ratios = [whole / parts - 1 for whole, parts in one]
    say(f"  overhead: median {statistics.median(ratios):.1%}, lowest {min(ratios):.1%}")
    _print("service, eight texts", [whole for whole, _ in eight])
    lowest = min(whole for whole, _ in eight) / min(whole for whole, _ in one)
    median = statistics.median(w for w, _ in eight) / statistics.median(w for w, _ in one)
    say(f"  eight against one: median {median:.2f}, lowest {lowest:.2f}")


def say(line: str) -> None:
    """A line of the report."""
    print(line, flush=True)  # noqa: T201


def _print(name: str, seconds: list[float]) -> None:
    low, middle = 1000 * min(seconds), 1000 * statistics.median(seconds)
    say(f"{name}: lowest {low:.1f} ms, median {middle:.1f} ms of {len(seconds)}")


def _processes(arguments: list[str], runs: int) -> list[float]:
    script = Path(sys.executable).with_name("huginn-search")
    took = []
    for _ in range(runs):
        started = time.perf_counter()
        done = subprocess.run([script, *arguments], capture_output=True, check=False)
        took.append(time.perf_counter() - started)
        if done.returncode not in {0, 1}:
            raise SystemExit(done.stderr.decode())
    return took


@contextmanager
def _service(config: Path | None) -> Iterator[tuple[Place, list[float], list[float]]]:
    """The service in this process, so that what it spends on what can be timed.

    Seconds: of each answer as the service makes it, and of each call of model or hybrid query.
    """
    answered: list[float] = []
    spent: list[float] = []
    found = place_of(config)
    place = Place(found.folder, f"bench-{found.key[:8]}", found.config)
    service = Service(place, load_settings(config))
    with (
        service.engine,
        _timed(Service, "answer", answered),
        _timed(Embedder, "embed", spent),
        _timed(Reader, "hybrid", spent),
    ):
        service.warm_up()
        server = Server(place.socket, service)
        listener = threading.Thread(target=server.serve_forever)
        listener.start()
        try:
            client.send(place, "/search", {"texts": TEXTS}, seconds=60, mark=service.fingerprint)
            yield place, answered, spent
        finally:
            server.shutdown()
            listener.join()
            server.server_close()
            place.socket.unlink()


@contextmanager
def _timed(owner: Any, name: str, spent: list[float]) -> Iterator[None]:
    inner: Callable[..., Any] = getattr(owner, name)

    def outer(*args: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return inner(*args, **options)
        finally:
            spent.append(time.perf_counter() - started)

    setattr(owner, name, outer)
    try:
        yield
    finally:
        setattr(owner, name, inner)


def _inside(
    place: Place, answered: list[float], spent: list[float], texts: list[str]
) -> tuple[float, float]:
    from search.service_place import fingerprint_of

    mark = fingerprint_of(place)
    answered.clear()
    spent.clear()
    reply = client.send(place, "/search", {"texts": texts}, seconds=60, mark=mark)
    if "error" in reply:
        raise SystemExit(reply["error"]["message"])
    return sum(answered), sum(spent)


if __name__ == "__main__":
    main()
