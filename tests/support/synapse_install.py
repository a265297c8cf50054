"""A Python with Synapse in it, for the tests: named in the environment, or made once in the cache.

Synapse is a test peer, never a dependency: its pins would fight with ours, so it has an
environment of its own. ``python -m tests.support.synapse_install`` makes it ahead of the tests.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import platformdirs

from search.locking import locked

SYNAPSE_VARIABLE = "HUGINN_TEST_SYNAPSE"
VERSION = "1.163.2"


def synapse_python() -> Path:
    """A Python whose ``synapse.app.homeserver`` can be run; installed on first use.

    ``HUGINN_TEST_SYNAPSE`` names one that is there already. Two processes never install twice.
    """
    if named := os.environ.get(SYNAPSE_VARIABLE):
        return Path(named).absolute()
    cache = platformdirs.user_cache_path("huginn-tests")
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / f"synapse-{VERSION}-py{sys.version_info.major}.{sys.version_info.minor}"
    python = home / "bin" / "python"
    with locked(cache / "synapse.lock"):
        if not (home / "complete").exists():
            shutil.rmtree(home, ignore_errors=True)
            _uv("venv", "--python", sys.executable, str(home))
            wanted = f"matrix-synapse=={VERSION}"
            # Without bytecode each start of Synapse would compile it all again, for 20 s.
            _uv("pip", "install", "--compile-bytecode", "--python", str(python), wanted)
            (home / "complete").touch()
    return python


def _uv(*arguments: str) -> None:
    done = subprocess.run(
        ["uv", "--quiet", *arguments], capture_output=True, text=True, check=False, timeout=500
    )
    if done.returncode:
        raise RuntimeError(f"uv {arguments[0]} failed:\n{done.stderr[-2000:]}")


if __name__ == "__main__":
    sys.stdout.write(f"{synapse_python()}\n")
