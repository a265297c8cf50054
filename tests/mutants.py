"""Breaks each rule of ``mutants.toml`` in a copy of the tree and shows the test that notices.

    uv run python -m tests.mutants [ID or CASE...]

A mutant survives if its test passes although the rule is broken: then the exit code is 1, as it is
when the test fails for another reason than an assertion (it cannot be collected, it hangs).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "mutants.toml"
SECONDS = 300

_FAILED = 1
"""pytest's exit code when tests ran and some failed; every other one says that they did not run."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """``old`` stands once in ``file``; with ``new`` in its place, ``test`` must fail.

    ``cases`` are the ids in ``tests/cases/cases.toml`` whose rule it is.
    """

    id: str
    rule: str
    spec: str
    file: str
    old: str
    new: str
    test: str
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """``noticed``: the test failed; ``told`` is the assertion that it failed with, or what else."""

    noticed: bool
    told: str


class MutantError(Exception):
    """The table does not fit the tree, or the copy is not what was tested."""


def mutants(table: Path = TABLE) -> list[Mutant]:
    """All entries of the table, in its order."""
    entries = tomllib.loads(table.read_text())["mutant"]
    return [Mutant(**entry | {"cases": tuple(entry.get("cases", ()))}) for entry in entries]


def broken(mutant: Mutant, root: Path = ROOT) -> str:
    """The text of the mutant's file with the rule broken.

    Raises:
        MutantError: ``old`` does not stand there exactly once.
    """
    text = (root / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise MutantError(f"{mutant.id}: {mutant.old!r} stands {text.count(mutant.old)} times")
    return text.replace(mutant.old, mutant.new)


def judge(mutant: Mutant) -> Verdict:
    """Run the mutant's test in a copy of the tree with the rule broken."""
    with tempfile.TemporaryDirectory(prefix="huginn-mutant-") as name:
        folder = Path(name).resolve()
        _copy(folder)
        (folder / mutant.file).write_text(broken(mutant))
        environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        _check_that_the_copy_is_imported(folder, environment)
        options = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", mutant.test, f"--timeout={SECONDS}", *options],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    told = re.search(r"^[\s|]*E   +(\S.*)$", done.stdout, re.MULTILINE)
    if done.returncode == 0:
        return Verdict(noticed=False, told="survived")
    if done.returncode != _FAILED or told is None:
        last = (done.stdout + done.stderr).strip().splitlines()[-1:]
        return Verdict(noticed=False, told=f"pytest exit code {done.returncode}: {last}")
    return Verdict(noticed=True, told=told[1])


def _copy(folder: Path) -> None:
    """All files that git knows or would take, as they stand in the work tree."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    for file in done.stdout.split("\0"):
        if (ROOT / file).is_file():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, folder / file)


def _check_that_the_copy_is_imported(folder: Path, environment: dict[str, str]) -> None:
    """The environment's own install points at the original tree; the copy must come before it."""
    program = "import flows, search, tasks; print(flows.__file__, search.__file__, tasks.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    if not all(Path(file).is_relative_to(folder) for file in done.stdout.split()):
        raise MutantError(f"not the copy was imported: {done.stdout}")


def main(wanted: Sequence[str]) -> int:
    """Judge the mutants with these ids or of these cases, or all, and print a row for each."""
    table = mutants()
    unknown = set(wanted) - {name for mutant in table for name in (mutant.id, *mutant.cases)}
    if unknown:
        _say(f"no such mutant: {', '.join(sorted(unknown))}")
        return 2
    chosen = [
        mutant
        for mutant in table
        if not wanted or not {mutant.id, *mutant.cases}.isdisjoint(wanted)
    ]
    _say("| id | line broken | test | the assertion that failed |\n| --- | --- | --- | --- |")
    survivors = []
    for mutant in chosen:
        verdict = judge(mutant)
        if not verdict.noticed:
            survivors.append(mutant.id)
        change = f"{mutant.file}: `{_in_a_line(mutant.old)}` → `{_in_a_line(mutant.new)}`"
        told = verdict.told if verdict.noticed else f"**{verdict.told}**"
        name = " ".join([mutant.id, *mutant.cases])
        _say(f"| {name} | {change} | {mutant.test.partition('::')[2]} | {told[:160]} |")
    _say(f"\n{len(chosen) - len(survivors)} of {len(chosen)} noticed")
    if survivors:
        _say(f"not noticed: {', '.join(survivors)}")
    return 1 if survivors else 0


def _in_a_line(text: str) -> str:
    return " ".join(text.split())


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201  # a command's output


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
