"""The embedding model in a process that starts git afterwards (spec 5.4)."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOKENIZERS_THREADS = 64

# git is forked for, as it is where the system has no vfork: only a fork is seen by the tokenizer.
PROGRAM = """
import subprocess
import psutil
from search.embedding import Embedder
from search.settings import EmbedderSettings
from tasks.adapters.git_process import run

vectors = Embedder(EmbedderSettings()).embed(["words " * n for n in range(1, 40)], "document")
subprocess._USE_VFORK = False
print(len(vectors), run(["--version"], timeout=240, environment={}).output.split()[0].decode())
print(psutil.Process().num_threads())
"""


def test_e06_git_started_after_texts_were_embedded_neither_hangs_nor_warns() -> None:
    """What hangs there, and what older tokenizers warn of, are the tokenizer's own threads."""
    environment = {
        **os.environ,
        "HUGINN_CONFIG": "",
        "RAYON_NUM_THREADS": str(TOKENIZERS_THREADS),
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    }
    environment.pop("TOKENIZERS_PARALLELISM", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    embedded, git, threads = done.stdout.split()
    assert (embedded, git) == ("39", "git")
    assert int(threads) < TOKENIZERS_THREADS
