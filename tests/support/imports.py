"""What a command line loads, seen from outside in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

HEAVY = {
    "anyio",
    "git",
    "grpc",
    "httpx",
    "huggingface_hub",
    "numpy",
    "prefect",
    "pydantic",
    "pydantic_settings",
    "rich",
    "sentence_transformers",
    "tokenizers",
    "tomlkit",
    "torch",
    "transformers",
    "weaviate",
}

_PROGRAM = """
import importlib, json, sys
module, calls = json.loads(sys.argv[1])
loaded = importlib.import_module(module)
codes = []
for arguments in calls:
    try:
        loaded.main(arguments)
    except SystemExit as error:
        codes.append(error.code)
print(json.dumps([codes, loaded.__file__, sorted(sys.modules)]))
"""


@dataclass(frozen=True)
class Loaded:
    """Exit codes of the calls, in order, and the names of all modules that were loaded."""

    codes: list[int]
    modules: set[str]

    @property
    def heavy(self) -> set[str]:
        """Heavy packages among them."""
        return HEAVY & {name.partition(".")[0] for name in self.modules}


def loaded_by(module: str, calls: Sequence[Sequence[str]] = ()) -> Loaded:
    """Import ``module`` in a fresh interpreter and call its ``main`` with each argument list."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps([module, calls])],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "HUGINN_CONFIG": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    codes, file, modules = json.loads(done.stdout.splitlines()[-1])
    assert Path(file).is_relative_to(ROOT), file
    return Loaded(codes, set(modules))
