"""Kills at chosen moments of a run, struck from inside it: the same choice strikes at the same one.

A run's moments are before and after each of its writes (batches of passages, deletes, records of
the ledger), after each embedding, and before and after each start of Weaviate. ``watch`` makes a
process count them; ``arm`` tells it at which ones to kill, and whom.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Literal

What = Literal["run", "weaviate", "both"]
PATIENCE = 300.0


@dataclass(frozen=True, slots=True)
class Strike:
    """SIGKILL for ``what``, ``later`` seconds after the ``moment``-th moment since the last one.

    With ``both``, Weaviate goes first and the run right after it.
    """

    what: What
    moment: int
    later: float


class _Arm:
    """The strikes that a run has yet to suffer; says in ``report`` what it did before it does it.

    A line a strike (``Strike`` with ``name``, the moment's) and one at the end (``moments``).
    """

    def __init__(self, strikes: Sequence[Strike], report: Path) -> None:
        self._left, self._report = list(strikes), report
        self._seen, self._total = 0, 0
        self._lock = threading.Lock()
        self._due = False

    def moment(self, name: str) -> None:
        with self._lock:
            self._total += 1
            self._seen += 1
            if self._due or not self._left or self._seen < self._left[0].moment:
                return
            self._due = True
        strike = self._left[0]
        if strike.later or (strike.what != "run" and weaviate() is None):
            threading.Thread(target=self._strike, args=(strike, name), daemon=True).start()
        else:
            self._strike(strike, name)

    def ended(self, code: int) -> None:
        """The run got to its end."""
        self._say({"code": code, "moments": self._total})

    def _strike(self, strike: Strike, name: str) -> None:
        time.sleep(strike.later)
        doomed = os.getpid() if strike.what == "run" else _waited_for()
        if doomed is None:  # told, and no kill
            self._say({"missed": asdict(strike), "name": name})
        else:
            self._say({**asdict(strike), "name": name, "pid": doomed})
            with suppress(ProcessLookupError):
                os.kill(doomed, signal.SIGKILL)
        if strike.what != "weaviate":
            os.kill(os.getpid(), signal.SIGKILL)
        with self._lock:
            del self._left[0]
            self._seen, self._due = 0, False

    def _say(self, facts: dict[str, Any]) -> None:
        with self._report.open("a", encoding="utf-8") as report:
            report.write(json.dumps(facts) + "\n")


_arms: list[_Arm] = []


def arm(strikes: Sequence[Strike], report: Path) -> None:
    """From now on this process strikes so, after ``watch``."""
    _arms[:] = [_Arm(strikes, report)]


def ended(code: int) -> None:
    """To be said at the end of an armed run."""
    for each in _arms:
        each.ended(code)


def weaviate() -> int | None:
    """The process number of the embedded server, ready or not."""
    from search.embedded_home import home_of, recorded
    from search.embedded_process import process_of
    from search.settings import load_settings

    server = recorded(home_of(load_settings()))
    return server.pid if server is not None and process_of(server) is not None else None


def _waited_for() -> int | None:
    """The same; one that is about to be started is waited for."""
    deadline = time.monotonic() + PATIENCE
    while (found := weaviate()) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def watch() -> None:
    """Makes this process, and those forked from it, count the moments of the work it does."""
    from search import embedded_start
    from search.embedding import Embedder
    from tasks.adapters.ledger import WeaviateLedger
    from tasks.adapters.passage_writer import WeaviatePassageWriter

    for owner, names, before in (
        (WeaviateLedger, ("_put", "forget", "forget_document"), True),
        (WeaviatePassageWriter, ("_write_batch", "delete", "expunge"), True),
        (Embedder, ("embed",), False),
        (embedded_start, ("find_or_start",), True),
    ):
        for name in names:
            setattr(owner, name, _told(name, getattr(owner, name), before=before))


def _told(name: str, function: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
    @wraps(function)
    def told(*arguments: Any, **options: Any) -> Any:
        if before:
            _happens(f"before {name}")
        done = function(*arguments, **options)
        _happens(f"after {name}")
        return done

    return told


def _happens(name: str) -> None:
    for each in _arms:
        each.moment(name)
