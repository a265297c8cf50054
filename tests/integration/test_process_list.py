"""What others on the machine see of a run: its processes and their arguments (spec 7.3)."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from search import embedded
from tests.support.community import Community
from tests.support.synapse import Synapse


def test_no_secret_stands_in_an_argument_of_any_process_of_a_run(
    chat: Community, synapse: Synapse, reader: str, prefect_api: str
) -> None:
    room = synapse.room("ada", reader)
    synapse.send(room, "ada", "Words.")
    chat.repository("one").commit({"a.md": "# A\n\nWords of one.\n"})
    seen: set[tuple[str, ...]] = set()
    environment = {**os.environ, "HUGINN_CONFIG": str(chat.config())}
    environment |= {"PREFECT_API_URL": prefect_api, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", "from flows.cli import main; main()", "refresh"],
        env=environment,
        cwd=chat.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        process = psutil.Process(run.pid)
        while run.poll() is None:
            with suppress(psutil.Error):
                for each in (process, *process.children(recursive=True)):
                    seen.add(tuple(each.cmdline()))
    assert run.returncode == 0
    keys = embedded.keys(chat.server)
    secrets = {synapse.token(reader), keys.writer, keys.reader, keys.cluster}
    words = {word for command in seen for word in command}
    assert any(word.endswith("refresh") for word in words)
    assert any(Path(command[0]).name == "git" for command in seen if command)
    assert not [word for word in words if any(secret in word for secret in secrets)]
