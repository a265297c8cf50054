"""Checks citations drawn at random, and that every file of the tip is accounted for.

    python -m tests.bench.forge_citations --config huginn.toml [--seed 1] [--each 10]
        [--report run.json ...]

For each listed repository: the files of the cited commit by ``git ls-tree`` against those with a
passage in the store plus those that the report of the run (``huginn refresh --json``) counts as
skipped, by reason. Then so many passages of files, drawn at random: the blob by ``git rev-parse``,
the cited lines cut out of ``git cat-file blob`` compared with the passage's text, the commit
compared with the tip. Where a secret was taken out of the text, what stands around the marks is
compared.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from search.ledger import SourceRecord
from search.listing import RepositorySettings
from search.settings import load_settings
from tasks.domain.files import decode
from tasks.domain.scrub import MARKER
from tests.bench.forge_home import git, records, say, stored

COMMIT_REASONS = {"merge", "bot", "blank"}

Facts = Mapping[str, Any]


def accounted(
    listed: RepositorySettings, tip: str, passages: Sequence[Facts], skipped: Mapping[str, int]
) -> bool:
    """Whether files in the tree = files with a passage + files skipped; says so."""
    listing = git(listed.url, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tip)
    seen = len(listing.split(b"\0")) - 1
    indexed = len({facts["path"] for facts in passages})
    reasons = {key: count for key, count in skipped.items() if key not in COMMIT_REASONS}
    total = indexed + sum(reasons.values())
    told = ", ".join(f"{key} {count}" for key, count in sorted(reasons.items())) or "none"
    say(
        f"\n## {listed.name} at {tip[:12]}\n\n{seen} files by git ls-tree; {indexed} indexed "
        f"({len(passages)} passages) + {sum(reasons.values())} skipped ({told}) = {total}: "
        f"{'adds up' if seen == total else 'DIFFERS'}\n"
    )
    return seen == total


def cited(listed: RepositorySettings, commit: str, facts: Facts) -> str:
    """``same``, ``same around [scrubbed]``, or what is wrong."""
    found = git(listed.url, "rev-parse", "--verify", f"{commit}:{facts['path']}")
    if found.decode().strip() != facts["blob"]:
        return "ANOTHER BLOB"
    text = decode(git(listed.url, "cat-file", "blob", facts["blob"])) or ""
    cut = "\n".join(text.split("\n")[int(facts["first_line"]) - 1 : int(facts["last_line"])])
    if columns := facts.get("columns"):
        cut = cut[int(columns[0]) : int(columns[1])]
    if cut == facts["text"]:
        return "same"
    around = [re.escape(part) for part in MARKER.split(facts["text"])]
    pattern = r"[\s\S]+?".join(around)
    if len(around) > 1 and re.fullmatch(pattern, cut):
        return "same around [scrubbed]"
    return "ANOTHER TEXT"


def check(
    listed: RepositorySettings,
    record: SourceRecord,
    passages: Mapping[str, Facts],
    draw: random.Random,
    each: int,
) -> bool:
    """Draw and compare; a row per citation."""
    say("| passage | path and lines | blob | cited at | text |\n| --- | --- | --- | --- | --- |")
    tip = git(listed.url, "rev-parse", listed.branch or "HEAD").decode().strip()
    good = True
    for identifier in draw.sample(sorted(passages), min(each, len(passages))):
        facts = passages[identifier]
        commit = record.commit_of(facts["ingested_at"]) or ""
        verdict = cited(listed, commit, facts) if commit == tip else "ANOTHER COMMIT"
        good = good and verdict.startswith("same")
        place = f"{facts['path']}:{int(facts['first_line'])}-{int(facts['last_line'])}"
        say(f"| {identifier[:8]} | {place} | {facts['blob'][:12]} | {commit[:12]} | {verdict} |")
    return good


def main() -> int:
    """Checks every listed repository; the exit code is 1 if anything differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--report", type=Path, action="append", default=[])
    options = parser.parse_args()
    settings = load_settings(options.config)
    skipped: dict[str, Mapping[str, int]] = {}
    for path in options.report:
        for outcome in json.loads(path.read_text(encoding="utf-8"))["sources"]:
            if outcome["result"] == "done":
                skipped[outcome["source"]] = outcome["counts"]["skipped"]
    held, ledger = stored(settings), records(settings)
    draw = random.Random(options.seed)  # noqa: S311  # a draw that can be repeated, no secret
    good = True
    for listed in settings.repositories:
        of_source = {
            identifier: facts
            for identifier, facts in held.items()
            if facts["source"] == listed.source and facts["kind"] == "file"
        }
        record = ledger[listed.source]
        tip = record.cursor.commit or ""
        counts = skipped.get(listed.source, {})
        good = accounted(listed, tip, list(of_source.values()), counts) and good
        good = check(listed, record, of_source, draw, options.each) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
