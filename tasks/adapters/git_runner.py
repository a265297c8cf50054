"""Runs git for one repository: its name in errors, its time limit, its way of ssh."""

import contextlib
import os
from collections.abc import Generator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from git.cmd import Git

from search.listing import is_local
from tasks.adapters.git_errors import MirrorDamaged, error_of
from tasks.adapters.git_process import Finished, run, start, stop
from tasks.errors import RepositoryBusy

_AT_ONCE = 50  # requests written ahead: fewer bytes than any pipe holds, so nobody blocks


class GitRunner:
    """Git on behalf of the repository ``name`` at ``address``; ``seconds`` bound each call."""

    def __init__(self, name: str, address: str, seconds: float) -> None:
        self.name = name
        self.address = address
        self.seconds = seconds
        self._environment = _ssh(address)
        self._reading: list[Git.AutoInterrupt] = []

    def run(
        self,
        *arguments: str,
        git_dir: Path | None = None,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> Finished:
        """Run git to its end, of ``seconds`` at most, and hand over whatever it did."""
        return run(
            arguments,
            timeout=min(self.seconds, seconds or self.seconds),
            git_dir=git_dir,
            stdin=stdin,
            environment={**self._environment, **(environment or {})},
        )

    def output(
        self,
        *arguments: str,
        git_dir: Path | None = None,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> bytes:
        """What git printed, within ``seconds``.

        Raises:
            RepositoryUnreadable, RepositoryBusy: git failed; see the table in ``git_errors``.
        """
        finished = self.run(
            *arguments, git_dir=git_dir, stdin=stdin, environment=environment, seconds=seconds
        )
        if finished.code != 0:
            raise self.error_of(finished)
        return finished.output

    def error_of(self, finished: Finished) -> Exception:
        """The error for a git that failed."""
        return error_of(finished, self.name, self.seconds)

    def objects(self, names: Sequence[str], git_dir: Path) -> Generator[tuple[str, bytes | None]]:
        """Each object's content in the order asked, None for one that is missing; one ``cat-file``.

        Raises:
            MirrorDamaged: an object is there but cannot be read.
            RepositoryBusy: ``close`` was called in the middle.
        """
        process = start(["cat-file", "--batch"], git_dir=git_dir, environment=self._environment)
        self._reading.append(process)
        try:
            asked = iter(names)
            while batch := list(islice(asked, _AT_ONCE)):
                self._ask(process, batch)
                for name in batch:
                    yield name, self._answer(process)
        finally:
            if process in self._reading:
                self._reading.remove(process)
            stop(process)

    def _ask(self, process: Git.AutoInterrupt, names: Sequence[str]) -> None:
        self._check_open(process)
        with contextlib.suppress(BrokenPipeError):  # a git that died gives no answer either
            process.stdin.write("".join(f"{name}\n" for name in names).encode("ascii"))
            process.stdin.flush()

    def _answer(self, process: Git.AutoInterrupt) -> bytes | None:
        self._check_open(process)
        header = process.stdout.readline()
        if header.endswith(b" missing\n"):
            return None
        size = int(header.split()[2]) if header else 0
        content: bytes = process.stdout.read(size)
        if process.stdout.read(1) != b"\n" or len(content) != size:
            raise MirrorDamaged(f"{self.name}: an object cannot be read. Clone it anew.")
        return content

    def _check_open(self, process: Git.AutoInterrupt) -> None:
        if process not in self._reading:
            raise RepositoryBusy(f"{self.name}: it was closed while being read. Read it again.")

    def close(self) -> None:
        """Stop whatever is still being read."""
        while self._reading:
            stop(self._reading.pop())


def _ssh(address: str) -> dict[str, str]:
    """The environment in which ssh asks nothing, with the user's own ssh command kept."""
    scheme = address.partition("://")[0].lower() if "://" in address else "ssh"
    if is_local(address) or scheme != "ssh" or "GIT_SSH" in os.environ:
        return {}
    command = os.environ.get("GIT_SSH_COMMAND")
    if not command:
        configured = run(
            ["config", "--get", "core.sshCommand"], timeout=10, environment={}
        ).output.decode("utf-8", "surrogateescape")
        command = configured.strip() or "ssh"
    return {"GIT_SSH_COMMAND": f"{command} -o BatchMode=yes"}
