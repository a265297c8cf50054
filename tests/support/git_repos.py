"""Builders of real git repositories in temporary folders, alike on every machine.

Commits are made through ``git fast-import``: any name, mode, date and encoding, one process each,
no work tree. Committer, dates and configuration are fixed; the user's configuration is not read.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIRST_SECOND = 1_700_000_000  # of the first commit; each further one is a minute later
ISOLATED = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True)
class Link:
    """A symbolic link's target."""

    target: str


@dataclass(frozen=True)
class Submodule:
    """The commit that a submodule entry names."""

    commit: str


Content = bytes | str | Link | Submodule | None  # None removes the path
Files = Mapping[Any, Content]  # by path, as text or as bytes


@dataclass
class GitRepo:
    """A repository at ``path`` whose HEAD names ``branch``."""

    path: Path
    bare: bool = False
    branch: str = "main"
    made: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        bare = ["--bare"] if self.bare else []
        run_git("init", "-q", *bare, f"--initial-branch={self.branch}", str(self.path))

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        return run_git("-C", str(self.path), *arguments, stdin=stdin)

    def tip(self, branch: str | None = None) -> str | None:
        name = f"refs/heads/{branch or self.branch}"
        return self.git("for-each-ref", "--format=%(objectname)", name).strip() or None

    def commit(
        self,
        files: Files | None = None,
        *,
        message: str | bytes = "Change",
        author: str = "Ada Lovelace",
        when: str | None = None,
        encoding: str | None = None,
        branch: str | None = None,
        parents: Sequence[str] | None = None,
        base: str | None = None,
    ) -> str:
        """Commit onto ``branch`` what differs from ``base`` (default: the first parent's tree).

        ``when`` is git's raw date, seconds and offset; ``parents`` default to the branch's tip.
        """
        tip = self.tip(branch)
        parents = ([tip] if tip else []) if parents is None else parents
        when = when or f"{FIRST_SECOND + 60 * self.made} +0000"
        self.made += 1
        ref = f"refs/heads/{branch or self.branch}"
        lines = [f"reset {ref}\n", f"commit {ref}", "mark :1"]
        lines += [f"author {author} <ada@example.org> {when}"]
        lines += [f"committer Grace Hopper <grace@example.org> {when}"]
        lines += [f"encoding {encoding}"] if encoding else []
        stream = "\n".join(lines).encode() + b"\n" + _data(message)
        for word, parent in zip(["from", *["merge"] * len(parents)], parents, strict=False):
            stream += f"{word} {parent}\n".encode()
        base = base or (parents[0] if parents else None)
        if base:
            stream += f'M 040000 {self.git("rev-parse", base + "^{tree}").strip()} ""\n'.encode()
        for path, content in (files or {}).items():
            stream += _change(path if isinstance(path, bytes) else path.encode(), content)
        stream += b"\nget-mark :1\n"
        options = ("--quiet", "--force", "--date-format=raw-permissive")
        return self.git("fast-import", *options, stdin=stream).strip()

    def amend(self, files: Files | None = None, *, message: str = "Change") -> str:
        """Replace the tip by a commit with the same parents."""
        tip = self.tip()
        assert tip is not None
        parents = self.git("rev-list", "--parents", "-1", tip).split()[1:]
        return self.commit(files, message=message, parents=parents, base=tip)

    def reset(self, commit: str, branch: str | None = None) -> None:
        """Point the branch somewhere else, as a force-push does."""
        self.git("update-ref", f"refs/heads/{branch or self.branch}", commit)

    def prune(self) -> None:
        """Forget every commit that no ref leads to."""
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("gc", "-q", "--prune=now")


def run_git(*arguments: str, stdin: bytes = b"") -> str:
    """Run git by itself, apart from whatever the user has configured."""
    done = subprocess.run(
        ["git", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **ISOLATED},
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout.decode("utf-8", "surrogateescape")


def _data(content: str | bytes) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return b"data %d\n%s\n" % (len(raw), raw)


def _change(path: bytes, content: Content) -> bytes:
    name = b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"'
    match content:
        case None:
            return b"D " + name + b"\n"
        case Link(target):
            return b"M 120000 inline " + name + b"\n" + _data(target)
        case Submodule(commit):
            return b"M 160000 " + commit.encode() + b" " + name + b"\n"
        case _:
            return b"M 100644 inline " + name + b"\n" + _data(content)
