"""A batch of commit messages: read, scrubbed, cut (spec 5.2)."""

from collections import Counter
from collections.abc import Callable

from search.ledger import Position, RepoCursor
from search.passage import Passage
from tasks.context import RepoContext
from tasks.domain.acknowledgement import Counts
from tasks.domain.commits import skip_commit
from tasks.domain.passages import commit_passages
from tasks.ports import CommitMessage
from tasks.repo_plan import Plan
from tasks.repo_step import Step

MOST_COMMITS = 1_000
MOST_BYTES = 1_000_000
"""A batch ends at so many commits, or once their messages hold so many characters."""


def next_commits(
    context: RepoContext,
    plan: Plan,
    cursor: RepoCursor,
    wanted: Callable[[CommitMessage], bool] = lambda _: True,
) -> Step:
    """The batch of commits after the cursor's position, oldest first; the others are left alone."""
    done = cursor.position.done if cursor.position else 0
    shas = plan.commits[done : done + MOST_COMMITS]
    skipped: Counter[str] = Counter()
    scrubbed: Counter[str] = Counter()
    taken: list[CommitMessage] = []
    others: set[str] = set()
    looked_at = size = 0
    for commit in context.repository.commit_messages(shas):
        if size >= MOST_BYTES:
            break
        looked_at += 1
        if not wanted(commit):
            others.add(commit.sha)
            continue
        size += len(commit.message)
        reason = skip_commit(
            commit,
            merges=context.settings.forge.merge_commits,
            bots=context.settings.forge.bot_commits,
        )
        if reason:
            skipped[reason] += 1
        else:
            taken.append(commit)
    passages: list[Passage] = []
    cleaned = context.scrubber.scrub([commit.message.strip() for commit in taken])
    for commit, clean in zip(taken, cleaned, strict=True):
        scrubbed.update(dict(clean.counts))
        chunks = context.chunker.chunks("", clean.text)
        passages += commit_passages(context.listed.name, commit, chunks, rules=context.commit_rules)
    done += looked_at
    last = done >= len(plan.commits)
    return Step(
        next=Position("deletes") if last else Position("commits", done=done),
        commits=tuple(sha for sha in shas[:looked_at] if sha not in others),
        passages=tuple(passages),
        counts=Counts(
            commits=looked_at - len(others), skipped=dict(skipped), scrubbed=dict(scrubbed)
        ),
    )
