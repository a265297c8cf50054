"""Replays a real history in increments, then rewrites it, against clean runs (spec 2.4, 5.4).

    python -m tests.bench.forge_replay REPOSITORY --work FOLDER [--binary FILE] [--steps 10]
        [--stride 10] [--no-commit-messages]

The repository is cloned bare into FOLDER; nothing is written to it. The branch is set back by
steps x stride first-parent commits and indexed; then it moves on stride by stride, a run each. Then
its history is rewritten: the tip amended, the last 20 commits squashed, and all but the newest two
of the last 30 made anew and force-pushed, the old ones pruned from the remote and gone with the
mirror. After the replay and after each rewriting a clean run
into a collection of its own must hold the same passages: ids and all properties but the time of
ingestion. A text counts as embedded in vain if a passage with its digest was stored before the run.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.forge_home import ALIAS, Home, git, say

NAME = "replayed"
SQUASHED = 20
REMADE = 30
_WHO = (
    "author Ada Lovelace <ada@example.org> 1800000000 +0000",
    "committer Ada Lovelace <ada@example.org> 1800000000 +0000",
)


@dataclass
class Replay:
    """The bare clone ``remote``, its branch, and what came out so far."""

    home: Home
    remote: Path
    branch: str
    clean_runs: int = 0
    failures: list[str] = field(default_factory=list)

    def step(self, title: str) -> int:
        """One refresh of the incremental collection; gives the texts it embedded."""
        before = {facts["digest"] for facts in self._held().values()}
        outcome, seconds = self._refresh(ALIAS)
        held = self._held()
        counts = outcome["counts"]
        new = {facts["digest"] for facts in held.values()} - before
        in_vain = counts["embedded"] - len(new)
        say(
            f"| {title} | {outcome['target'][:12]} | {counts['files']} | {counts['commits']} | "
            f"{counts['written']} | {counts['deleted']} | {counts['embedded']} | {in_vain} | "
            f"{len(held)} | {seconds:.0f} |"
        )
        if in_vain:
            self.failures.append(f"{title}: {in_vain} texts embedded that were there")
        return int(counts["embedded"])

    def compare(self, title: str) -> int:
        """A clean run of the same tip must hold the same; gives the texts it embedded."""
        self.clean_runs += 1
        collection = f"Clean{self.clean_runs}"
        outcome, seconds = self._refresh(collection)
        counts = outcome["counts"]
        clean, held = self.home.passages(collection), self._held()
        different = sum(clean[each] != held[each] for each in clean.keys() & held.keys())
        say(
            f"| clean run, {title} | {outcome['target'][:12]} | {counts['files']} | "
            f"{counts['commits']} | {counts['written']} | {counts['deleted']} | "
            f"{counts['embedded']} | | {len(clean)} | {seconds:.0f} |"
        )
        said = (
            f"{title}: {len(clean)} passages clean, {len(held)} incremental; only clean "
            f"{len(clean.keys() - held.keys())}, only incremental "
            f"{len(held.keys() - clean.keys())}, different {different}"
        )
        say(f"\n{said}\n")
        if clean != held:
            self.failures.append(said)
        return int(counts["embedded"])

    def point(self, commit: str) -> None:
        """Point the branch somewhere else."""
        git(self.remote, "update-ref", f"refs/heads/{self.branch}", commit)

    def tip(self, name: str = "") -> str:
        """The commit at the branch, or at ``name`` after it (``~20``)."""
        return _word(git(self.remote, "rev-parse", f"refs/heads/{self.branch}{name}"))

    def remake(self, commit: str, parents: list[str], message: str) -> str:
        """A new commit of the same tree."""
        tree = _word(git(self.remote, "rev-parse", f"{commit}^{{tree}}"))
        lines = [f"tree {tree}", *(f"parent {each}" for each in parents), *_WHO, "", message, ""]
        raw = "\n".join(lines).encode()
        return _word(git(self.remote, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw))

    def forget(self) -> None:
        """Prune the remote and throw the mirror away: the cursor's commit exists nowhere."""
        git(self.remote, "reflog", "expire", "--expire=now", "--all")
        git(self.remote, "gc", "-q", "--prune=now")
        shutil.rmtree(self.home.folder / "cache" / "mirrors")

    def _held(self) -> dict[str, dict[str, Any]]:
        if not (self.home.folder / "data").exists():
            return {}
        return self.home.passages()

    def _refresh(self, collection: str) -> tuple[dict[str, Any], float]:
        start = time.monotonic()
        outcome = self.home.refresh(collection)[f"repo:{NAME}"]
        return outcome, time.monotonic() - start


def replay(run: Replay, steps: int, stride: int) -> None:
    """Old commit, increments, clean run of the tip."""
    newest_first = git(run.remote, "rev-list", "--first-parent", f"refs/heads/{run.branch}")
    line = newest_first.decode().split()
    run.point(line[steps * stride])
    run.step(f"first run, {steps * stride} commits before the tip")
    embedded = 0
    for number in range(1, steps + 1):
        run.point(line[(steps - number) * stride])
        embedded += run.step(f"increment {number}")
    clean = run.compare("tip after the replay")
    say(f"embedded in the {steps} increments {embedded}, in the clean run {clean}\n")


def amend(run: Replay) -> None:
    """The tip under another message."""
    parents = git(run.remote, "rev-parse", f"{run.tip()}^@").decode().split()
    run.point(run.remake(run.tip(), parents, "An amended message about the last change"))


def squash(run: Replay) -> None:
    """The last commits as one."""
    run.point(run.remake(run.tip(), [run.tip(f"~{SQUASHED}")], "One commit instead of twenty"))


def force_push(run: Replay) -> None:
    """Other commits with the same trees, from further back; the newest two do not come back."""
    line = git(run.remote, "rev-list", "--first-parent", f"-{REMADE}", run.tip()).decode().split()
    parent = run.tip(f"~{REMADE}")
    for commit in reversed(line[2:]):
        parent = run.remake(commit, [parent], f"Made anew, once {commit[:12]}")
    run.point(parent)
    run.forget()


REWRITINGS: tuple[tuple[str, Callable[[Replay], None]], ...] = (
    ("tip amended", amend),
    (f"last {SQUASHED} squashed", squash),
    ("force-push, old commits pruned everywhere", force_push),
)


def main() -> int:
    """Runs it all; the exit code is 1 if anything differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--stride", type=int, default=10)
    parser.add_argument("--no-commit-messages", action="store_true")
    options = parser.parse_args()
    remote = options.work / "remote.git"
    git(".", "clone", "-q", "--bare", "--no-hardlinks", str(options.repository), str(remote))
    branch = _word(git(remote, "symbolic-ref", "--short", "HEAD"))
    home = Home(
        options.work / "home",
        {NAME: str(remote)},
        options.binary,
        commit_messages=not options.no_commit_messages,
    )
    run = Replay(home, remote, branch)
    say(
        "| run | commit | files | commits | written | deleted | embedded | in vain | held | s |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    try:
        replay(run, options.steps, options.stride)
        for title, rewrite in REWRITINGS:
            rewrite(run)
            run.step(title)
            run.compare(title)
    finally:
        home.down()
    for failure in run.failures:
        say(f"FAILED {failure}")
    return 1 if run.failures else 0


def _word(output: bytes) -> str:
    return output.decode().strip()


if __name__ == "__main__":
    sys.exit(main())
