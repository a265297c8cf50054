"""``huginn`` in a process of its own, as a user runs it; it tells which modules it loaded."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.community import Community

_MARK = "loaded: "
_PROGRAM = f"""
import atexit, json, sys
from flows.cli import main
tell = lambda: sys.stderr.write("{_MARK}" + json.dumps(sorted(sys.modules)) + "\\n")
atexit.register(tell)
main(sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """What it answered. ``loaded`` are the top-level names of all modules at its end."""

    code: int
    output: str
    errors: str
    loaded: frozenset[str]


def huginn(community: Community, *arguments: str, seconds: float = 500, **environment: str) -> Ran:
    """Runs it with the community's settings, and waits for it, at most so many seconds."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        env={
            # This process may have quietened its own Prefect; that is no setting of the user's.
            **{
                name: value for name, value in os.environ.items() if name != "PREFECT_LOGGING_LEVEL"
            },
            "HUGINN_CONFIG": str(community.config()),
            "PYTHONPATH": str(Path(__file__).parents[2]),
            **environment,
        },
        cwd=community.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    told = [line for line in done.stderr.splitlines() if line.startswith(_MARK)]
    modules = json.loads(told[-1].removeprefix(_MARK)) if told else []
    return Ran(
        done.returncode,
        done.stdout,
        "\n".join(line for line in done.stderr.splitlines() if not line.startswith(_MARK)),
        frozenset(name.partition(".")[0] for name in modules),
    )
