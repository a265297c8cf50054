"""A batch of files: chosen, read, scrubbed, cut (spec 5.2, 5.3)."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from search.ledger import Position, RepoCursor
from search.passage import Passage
from tasks.adapters.globs import chosen_by, named_by
from tasks.context import RepoContext
from tasks.domain.acknowledgement import Counts
from tasks.domain.files import decode, skip_by_content, skip_by_entry
from tasks.domain.generated import has_generated_path, is_vendored_path
from tasks.domain.passages import file_passages
from tasks.ports import TreeEntry
from tasks.repo_plan import Plan
from tasks.repo_step import Step, after_files

MOST_FILES = 100
MOST_BYTES = 256_000
"""A batch ends at so many files, or once its blobs hold so many bytes."""


def next_files(context: RepoContext, plan: Plan, cursor: RepoCursor) -> Step:
    """The batch of files after the cursor's position, in order of their paths."""
    after = cursor.position.after if cursor.position else ""
    start = bisect_right(plan.paths, after) if after else 0
    skipped: Counter[str] = Counter()
    if not after and plan.tree.unreadable_paths:
        skipped["path-not-utf8"] = plan.tree.unreadable_paths
    admitted: list[TreeEntry] = []
    looked_at: list[str] = []
    size = 0
    for path in plan.paths[start : start + MOST_FILES]:
        looked_at.append(path)
        entry = plan.entries.get(path)
        if entry is None:
            continue
        reason = skipped_by_entry(context, plan, entry)
        if reason:
            skipped[reason] += 1
            continue
        admitted.append(entry)
        size += entry.size or 0
        if size >= MOST_BYTES:
            break
    scrubbed: Counter[str] = Counter()
    passages = list(_passages(context, plan, admitted, skipped, scrubbed))
    last = start + len(looked_at) >= len(plan.paths)
    return Step(
        next=after_files(plan) if last else Position("files", after=looked_at[-1]),
        paths=tuple(looked_at),
        passages=tuple(passages),
        counts=Counts(
            files=sum(path in plan.entries for path in looked_at) + skipped["path-not-utf8"],
            indexed=len({passage.path for passage in passages}),
            skipped=dict(skipped),
            scrubbed=dict(scrubbed),
        ),
    )


def skipped_by_entry(context: RepoContext, plan: Plan, entry: TreeEntry) -> str | None:
    """Why a file is left out by what its tree says of it, None if its content decides."""
    return skip_by_entry(
        entry,
        generated=_is_generated(context, plan, entry.path),
        vendored=_is_vendored(context, plan, entry.path),
        wanted=chosen_by(context.listed.include, context.listed.exclude),
        max_bytes=context.settings.forge.max_file_bytes,
    )


def rules_of(context: RepoContext, plan: Plan, path: str) -> str:
    """The rules that the passages of a file follow.

    They tell a file whose shape does not count from one that was looked at: when
    ``.gitattributes`` change their mind, what is stored of the same blob no longer belongs.
    """
    shapeless = _is_generated(context, plan, path) is False
    return f"{context.rules}+meant" if shapeless else context.rules


def _is_generated(context: RepoContext, plan: Plan, path: str) -> bool | None:
    meant = named_by(context.listed.include, has_generated_path)(path)
    return False if meant else plan.tree.is_generated(path)


def _is_vendored(context: RepoContext, plan: Plan, path: str) -> bool | None:
    meant = named_by(context.listed.include, is_vendored_path)(path)
    return False if meant else plan.tree.is_vendored(path)


def _passages(
    context: RepoContext,
    plan: Plan,
    entries: Sequence[TreeEntry],
    skipped: Counter[str],
    scrubbed: Counter[str],
) -> Iterator[Passage]:
    blobs = context.repository.blobs([entry.blob for entry in entries])
    for entry, (_, data) in zip(entries, blobs, strict=True):
        generated = _is_generated(context, plan, entry.path)
        reason = skip_by_content(entry.path, data, generated=generated)
        text = None if reason else decode(data)
        if text is None:
            skipped[reason or "undecodable"] += 1
            continue
        (clean,) = context.scrubber.scrub([text])
        scrubbed.update(dict(clean.counts))
        chunks = context.chunker.chunks(entry.path, clean.text)
        rules = rules_of(context, plan, entry.path)
        yield from file_passages(context.listed.name, entry.path, entry.blob, chunks, rules=rules)
