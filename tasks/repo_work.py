"""How much work a run has before it, so that its progress tells the time that is left.

Almost all time goes into embedding, which goes by the size of the text: a page counts its bytes, a
file that is skipped next to nothing.
"""

from bisect import bisect_right
from collections.abc import Sequence

from search.ledger import RepoCursor
from tasks.context import RepoContext
from tasks.repo_files import skipped_by_entry
from tasks.repo_plan import Plan

LOOK = 50
COMMIT = 300
"""Bytes of text that looking at a file, and taking a commit's message, are worth."""


def work_of(context: RepoContext, plan: Plan, paths: Sequence[str], commits: int) -> int:
    """The work in these paths and so many commits, in bytes of text."""
    work = LOOK * len(paths) + COMMIT * commits
    for path in paths:
        entry = plan.entries.get(path)
        if entry is not None and skipped_by_entry(context, plan, entry) is None:
            work += entry.size or 0
    return work


def remaining_work(context: RepoContext, plan: Plan, cursor: RepoCursor) -> int:
    """The work from the cursor's position on: a run that goes on does not count what is done."""
    position = cursor.position
    if position is None or position.phase == "deletes":
        return 0
    if position.phase == "commits":
        return work_of(context, plan, (), len(plan.commits) - position.done)
    start = bisect_right(plan.paths, position.after) if position.after else 0
    return work_of(context, plan, plan.paths[start:], len(plan.commits))
