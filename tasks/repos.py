"""The work on one repository: begin, then step by step upsert and delete (spec 1.2, 2.3, 5).

Each step reads where to go on from the ledger, so that a task needs no parameter but the name of
the repository, and a retry or a later run does the same again.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from search.collection import fingerprint_of
from search.ledger import RepoCursor, SourceRecord, State
from tasks import in_flight
from tasks.context import RepoContext
from tasks.domain.acknowledgement import Acknowledgement, Confirmation, Counts
from tasks.domain.cursors import FIRST, arrived, begun, check_deletes, restarted, set_aside
from tasks.errors import (
    CursorMoved,
    NameClash,
    NoRunBegun,
    RepositoryUnreadable,
    SettingsChanged,
    UnknownCommit,
)
from tasks.ports import StoredPassage
from tasks.progress import listener
from tasks.repo_commits import next_commits
from tasks.repo_files import next_files, rules_of, skipped_by_entry
from tasks.repo_plan import Plan, Plans
from tasks.repo_step import Step, first_position
from tasks.repo_work import remaining_work, work_of
from tasks.vectorise import vectorised

_plans = Plans()


@dataclass(frozen=True, slots=True)
class Begun:
    """What a run towards a target has before it. ``target`` None: a repository without commits."""

    source: str
    target: str | None
    to_do: bool


def begin(context: RepoContext, *, from_start: bool = False) -> Begun:
    """Looks at the remote and, if there is news, fetches it and notes the target in the ledger.

    With ``from_start`` everything is gone through again, whatever the cursor says (backfill).

    Raises:
        RepositoryUnreadable: the remote has no commit any more, though the collection holds some.
        NameClash: the ledger knows another repository of this name.
    """
    ledger = context.store.ledger
    record = ledger.record(context.listed.source)
    check_identity(record, context)
    record = replace(record, **_facts(context))
    target = context.repository.tip()
    if target is None:
        return _empty(context, record)
    if not from_start and is_current(record, target, context.rules, context.admission):
        ledger.put(replace(record, state="current", reason=None, last_success=record.last_attempt))
        return Begun(record.source, target, to_do=False)
    context.repository.fetch()
    seen = record.cursor
    record = replace(ledger.record(record.source), **_facts(context))
    if record.cursor != seen:  # Minutes can lie between: another run is at work.
        raise CursorMoved(record.source)
    cursor = restarted(record.cursor) if from_start else record.cursor
    cursor = begun(cursor, target, rules=context.rules, admission=context.admission)
    try:
        plan = _plan(context, cursor)
    except UnknownCommit:  # Pruned after a force-push: what is held is listed instead.
        cursor = set_aside(cursor)
        plan = _plan(context, cursor)
    if cursor.position == FIRST:
        cursor = replace(cursor, position=first_position(plan))
    resumed = record.state == "deleting" and cursor == record.cursor
    state: State = "deleting" if resumed else "refreshing"
    ledger.put(replace(record, state=state, cursor=cursor))
    listener().expect(record.source, remaining_work(context, plan, cursor))
    return Begun(record.source, target, to_do=True)


def is_current(record: SourceRecord, target: str, rules: str, admission: str) -> bool:
    """Whether the collection holds ``target``, cut and chosen by today's rules."""
    cursor = record.cursor
    return (
        cursor.commit == target
        and not cursor.targets
        and (cursor.rules, cursor.admission) == (rules, admission)
    )


def upsert(context: RepoContext, *, allow_mass_delete: bool = False) -> Acknowledgement:
    """One step: a batch of files, a batch of commits, or a batch of deletes.

    Raises:
        WritesNotAcknowledged: the store did not confirm everything; the cursor stays.
        TooManyDeletes: see ``check_deletes``.
    """
    record = context.store.ledger.record(context.listed.source)
    position = record.cursor.position
    if position is None:
        raise NoRunBegun(record.source)
    if (record.cursor.rules, record.cursor.admission) != (context.rules, context.admission):
        raise SettingsChanged(record.source)
    in_flight.undo(context.store, record.source)
    context.repository.fetch(record.cursor.targets[-1])
    try:
        plan = _plan(context, record.cursor)
    except UnknownCommit:  # Another machine's mirror held more: list what is stored instead.
        record = replace(record, cursor=set_aside(record.cursor))
        context.store.ledger.put(record)
        plan = _plan(context, record.cursor)
    if position.phase == "deletes":
        return _delete(context, record, plan, allowed=allow_mass_delete)
    take = next_files if position.phase == "files" else next_commits
    return write(context, record, plan, take(context, plan, record.cursor))


def write(context: RepoContext, record: SourceRecord, plan: Plan, step: Step) -> Acknowledgement:
    """Writes what a step made, as far as it is not stored in just that form."""
    writer = context.store.writer
    seen = writer.stored(record.source, paths=step.paths, commits=step.commits)
    stored = {each.id: each.fingerprint for each in seen}
    different = [each for each in step.passages if stored.get(each.id) != fingerprint_of(each)]
    work = work_of(context, plan, step.paths, len(step.commits))
    pairs, embedded, fresh = vectorised(
        different,
        writer,
        context.embedder,
        lambda share: listener().advance(record.source, share * work),
    )
    acknowledged = in_flight.write(context.store, record.source, pairs)
    return Acknowledgement(
        source=record.source,
        before=record.cursor,
        after=replace(record.cursor, position=step.next),
        upserts=Confirmation.of((each.id for each in different), acknowledged),
        counts=replace(
            step.counts,
            written=len(acknowledged),
            unchanged=len(step.passages) - len(different),
            embedded=embedded,
            reused=len(pairs) - fresh,
        ),
    )


def _delete(
    context: RepoContext, record: SourceRecord, plan: Plan, *, allowed: bool
) -> Acknowledgement:
    writer = context.store.writer
    stale = _stale(context, plan)
    if stale:
        vanished = [each.id for each in stale if _vanished(each, plan, context)]
        resumed = record.state == "deleting"
        check_deletes(
            record.source, vanished, writer.count(record.source), allowed=allowed or resumed
        )
        record = replace(record, state="deleting", cursor=set_aside(record.cursor))
        context.store.ledger.put(record)
    ids = sorted({each.id for each in stale})
    confirmed = Confirmation.of(ids, in_flight.delete(context.store, record.source, ids))
    return Acknowledgement(
        source=record.source,
        before=record.cursor,
        after=arrived(record.cursor),
        deletes=confirmed,
        counts=Counts(deleted=len(confirmed.acknowledged)),
    )


def _stale(context: RepoContext, plan: Plan) -> list[StoredPassage]:
    """Stored passages that do not belong to the target."""
    writer, source = context.store.writer, context.listed.source
    stored = (
        writer.stored(source)
        if plan.whole
        else writer.stored(source, paths=plan.paths, commits=sorted(plan.stale_commits))
    )
    return [each for each in stored if not _belongs(each, plan, context)]


def _vanished(stored: StoredPassage, plan: Plan, context: RepoContext) -> bool:
    """Whether a stale passage is gone from the repository, not left out by settings or rules.

    Only such ones count for the guard: an exclusion is never held back (spec 2.7).
    """
    if stored.kind == "commit":
        known = stored.commit in plan.all_commits if plan.whole else False
        return context.settings.forge.commit_messages and not known
    entry = plan.entries.get(stored.path)
    return entry is None or entry.blob != stored.blob


def _belongs(stored: StoredPassage, plan: Plan, context: RepoContext) -> bool:
    """Whether a stored passage is one that the run towards the target wrote or left alone."""
    if stored.kind == "commit":
        return (
            stored.commit in plan.all_commits
            if plan.whole
            else stored.commit not in plan.stale_commits
        ) and stored.rules == context.commit_rules
    entry = plan.entries.get(stored.path)
    return (
        entry is not None
        and entry.blob == stored.blob
        and stored.rules == rules_of(context, plan, stored.path)
        and skipped_by_entry(context, plan, entry) is None
    )


def _plan(context: RepoContext, cursor: RepoCursor) -> Plan:
    return _plans.plan(
        context.listed.source,
        context.repository,
        cursor,
        commit_messages=context.settings.forge.commit_messages,
    )


def _facts(context: RepoContext) -> dict[str, Any]:
    """What a record says of its source apart from how far it is."""
    return {
        "identity": context.identity,
        "label": context.listed.label,
        "last_attempt": datetime.now(UTC),
    }


def check_identity(record: SourceRecord, context: RepoContext) -> None:
    """Refuses a name under which another repository was taken in.

    Raises:
        NameClash: the record is that one's.
    """
    if record.identity and record.identity != context.identity:
        raise NameClash(
            f"{record.source} was ingested from another repository ({record.identity}). "
            "Give this one another name (`huginn sources add NAME ADDRESS`); to replace the other "
            "one, take it off the list, run `huginn refresh`, and add this one then."
        )


def _empty(context: RepoContext, record: SourceRecord) -> Begun:
    """A remote without any commit: fine while nothing is held, unreadable otherwise (spec 2.7)."""
    held = record.cursor.commit or record.cursor.last_commit
    if held or record.cursor.targets:
        raise RepositoryUnreadable(
            f"{record.source}: the repository answers without any commit, but {held or 'some'} "
            "was there before. Nothing was deleted. If it was really emptied, "
            f"`huginn sources remove {context.listed.name}`."
        )
    context.store.ledger.put(
        replace(record, state="current", reason=None, last_success=record.last_attempt)
    )
    return Begun(record.source, None, to_do=False)
