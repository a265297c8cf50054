"""Random kills of the run and of Weaviate, each falling into the recovery from the one before.

    python -m tests.bench.kill_chains --work FOLDER [--chains 12] [--kills 5] [--seed 1]
                                      [--minutes M] [--log FILE] [--resume]

Rooms and repositories together. In a chain there is news, a run begins, and at a moment chosen by
the seed the run's process, Weaviate or both are killed with SIGKILL; the next kill falls into what
recovers from that: the same run if Weaviate was taken from it, else the next one, which begins at
once. No run gets through between two kills of a chain: else its row of kills begins anew. Before
each next run no cursor may be ahead of the passages. After the last kill a run goes through: the
passages must equal those of a clean run into a collection of its own, and ``huginn verify`` must
find nothing. Each chain appends a line to ``--log``; its seed is ``--seed`` plus its number.
``--resume`` goes on after the chains that the log has, with a new community.

``HUGINN_TEST_WEAVIATE_BINARY`` names a server to run, as for the tests.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.support.kill_chain import chain
from tests.support.kill_scene import scene
from tests.support.prefect_api import running_api
from tests.support.synapse import running_synapse
from tests.support.weaviate_server import weaviate_binary


def done(log: Path | None) -> list[dict[str, Any]]:
    """The chains that a log has; a last line that was cut short does not count."""
    if log is None or not log.exists():
        return []
    return [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]


def tally(chains: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Counts of kills by what they hit, of checks and of faults."""
    total: Counter[str] = Counter()
    for each in chains:
        total["chains"] += 1
        total["wrong"] += bool(each["wrong"])
        total["kills"] += len(each["kills"])
        total["kills outside whole rows"] += each["spare"]
        total["cursors checked"] += each["checks"]
        total.update(f"kills of {kill['what']}" for kill in each["kills"])
    return dict(total)


def main() -> int:
    """0 if everything held in every chain, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--chains", type=int, default=12)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10_000.0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    told = done(options.log) if options.resume else []
    work = options.work.absolute()
    (work / "prefect").mkdir(parents=True)
    with (
        running_api(work / "prefect") as api,
        running_synapse(work / "synapse") as synapse,
        scene(work, weaviate_binary(), api, synapse) as at,
    ):
        while len(told) < options.chains and time.monotonic() < deadline:
            told.append(asdict(chain(at, options.seed + len(told), options.kills)))
            line = json.dumps(told[-1])
            print(line, flush=True)  # noqa: T201  # a script
            if options.log:
                with options.log.open("a", encoding="utf-8") as log:
                    log.write(line + "\n")
    total = tally(told)
    print(total, flush=True)  # noqa: T201
    return 1 if total.get("wrong") else 0


if __name__ == "__main__":
    sys.exit(main())
