"""Peak memory of a refresh: a repository of n files, then another of ten times as many.

    python -m tests.bench.forge_memory --work FOLDER [--binary FILE] [--files 1000] [--times 10]
        [--distinct DISTINCT]

The files are made: functions in Python, pages in Markdown, put together from DISTINCT texts,
so that most chunks are equal to others and little time goes into the model; everything else goes
the same way as for any repository. Each is indexed by ``huginn refresh`` in a process of its own,
on a collection of its own; its VmHWM is read until it ends (helpers and servers have their own).
The model's own memory is that of a process that loads the embedder and embeds as many texts as a
refresh hands over at once.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.bench.forge_home import Home, git, say

PIECES = 6
_MODEL = """
from search.settings import load_settings
from tasks.bootstrap import embedder_of
from tasks.vectorise import AT_ONCE
embedder = embedder_of(load_settings().embedder)
line = "the ravens fly out over the world every day and tell what they have seen "
embedder.embed([f"{number} {line * 14}" for number in range(AT_ONCE)], "document")
"""
_WORDS = [
    "raven",
    "world",
    "memory",
    "thought",
    "signal",
    "packet",
    "ledger",
    "cursor",
    "window",
    "branch",
    "commit",
    "merge",
    "table",
    "index",
    "query",
    "token",
    "batch",
    "writer",
    "reader",
    "engine",
    "harbour",
    "river",
    "mountain",
    "lantern",
    "engraving",
]


def pieces(draw: random.Random, distinct: int) -> list[str]:
    """The distinct texts: about 900 bytes each, with words and numbers of their own."""
    made = []
    for number in range(distinct):
        lines = [f"def {draw.choice(_WORDS)}_{draw.choice(_WORDS)}_{number}(value):"]
        lines += [f'    """{" ".join(draw.choices(_WORDS, k=12))}."""']
        for step in range(9):
            name = f"{draw.choice(_WORDS)}_{step}"
            lines.append(f"    {name} = value + {draw.randrange(10_000)}  # {draw.choice(_WORDS)}")
            lines.append(f"    value = {name} * {draw.randrange(100)} - {draw.randrange(1_000)}")
        made.append("\n".join([*lines, "    return value", ""]))
    return made


def files(count: int, distinct: int) -> Iterator[tuple[str, str]]:
    """Paths and contents, the same for the same number."""
    draw = random.Random(count)  # noqa: S311  # a draw that can be repeated, no secret
    parts = pieces(random.Random(7), distinct)  # noqa: S311
    for number in range(count):
        chosen = draw.choices(parts, k=PIECES)
        folder = f"src/{number % 37:02}/{number % 11:02}"
        if number % 4:
            yield f"{folder}/module_{number:06}.py", "\n\n".join(chosen)
        else:
            sections = (f"## Section {at}\n\n{part}" for at, part in enumerate(chosen))
            yield f"{folder}/page_{number:06}.md", "\n".join(sections)


def repository(folder: Path, count: int, distinct: int) -> None:
    """A bare repository of one commit with so many files, by ``git fast-import``."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
    who = "committer Ada Lovelace <ada@example.org> 1700000000 +0000"
    stream = [f"commit refs/heads/main\n{who}\ndata 5\nBegin\n"]
    for path, content in files(count, distinct):
        stream.append(f"M 100644 inline {path}\ndata {len(content.encode())}\n{content}\n")
    git(folder, "fast-import", "--quiet", stdin="".join(stream).encode())


def peak(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str, float]:
    """The process's own VmHWM in kilobytes, what it printed, and its seconds."""
    start, highest = time.monotonic(), 0
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            highest = max(highest, _high_water(status))
            time.sleep(0.1)
        assert process.stdout is not None
        printed = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return highest, printed, time.monotonic() - start


def _high_water(status: Path) -> int:
    try:
        found = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    except OSError:
        return 0
    return int(found[0].split()[1]) if found else 0


def main() -> int:
    """Prints the table; the exit code is 1 if the ratio is over 1.5."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--distinct", type=int, default=400)
    options = parser.parse_args()
    peaks = []
    say("| process | files | passages | texts embedded | peak MB | s |")
    say("| --- | ---: | ---: | ---: | ---: | ---: |")
    for count in (options.files, options.files * options.times):
        folder = options.work / f"made-{count}.git"
        repository(folder, count, options.distinct)
        home = Home(options.work / f"home-{count}", {"made": str(folder)}, options.binary)
        try:
            command, environment = home.command("up")
            subprocess.run(command, env=environment, check=True)
            highest, printed, seconds = peak(*home.command("refresh", "--json"))
        finally:
            home.down()
        counts = _counts(printed)
        peaks.append(highest)
        say(
            f"| refresh | {counts['files']} | {counts['written']} | {counts['embedded']} | "
            f"{highest / 1024:.0f} | {seconds:.0f} |"
        )
    model, _, seconds = peak([sys.executable, "-c", _MODEL], home.environment)
    say(f"| the model alone | | | 256 | {model / 1024:.0f} | {seconds:.0f} |")
    ratio, rest = peaks[1] / peaks[0], (peaks[1] - model) / max(peaks[0] - model, 1)
    say(f"\nratio of the peaks {ratio:.2f}; without the model's own {rest:.2f}")
    return 1 if ratio > 1.5 else 0


def _counts(printed: str) -> dict[str, int]:
    return dict(json.loads(printed)["sources"][0]["counts"])


if __name__ == "__main__":
    sys.exit(main())
