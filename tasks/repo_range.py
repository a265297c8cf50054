"""The commit messages of a range of time, put right in what is held of a repository (spec 1.3).

Files have no time: they are what the held commit's tree says, and a range passes them over.
"""

from collections.abc import Sequence
from dataclasses import replace

from search.ledger import Position, RepoCursor, SourceRecord
from tasks import in_flight
from tasks.context import RepoContext
from tasks.domain.acknowledgement import Acknowledgement, Confirmation, Counts
from tasks.domain.cursors import check_deletes
from tasks.domain.ranges import Range, RangeCursor, text_of
from tasks.errors import NoRunBegun, SettingsChanged
from tasks.ports import Tree
from tasks.progress import listener
from tasks.range_records import put_range, range_of
from tasks.ranges import RangeAcknowledgement
from tasks.repo_commits import next_commits
from tasks.repo_plan import Plan
from tasks.repos import check_identity, write


def begin_range(context: RepoContext, asked: Range) -> bool:
    """Notes in the ledger that the commits of this range are gone through.

    False: there is no cursor to put anything right at, by today's rules; an ordinary run is due.

    Raises:
        NameClash, RepositoryUnreadable: see ``tasks.repos.begin``.
    """
    ledger = context.store.ledger
    record = ledger.record(context.listed.source)
    check_identity(record, context)
    cursor = record.cursor
    same = (cursor.rules, cursor.admission) == (context.rules, context.admission)
    if cursor.commit is None or cursor.targets or not same:
        return False
    context.repository.fetch(cursor.commit)
    version = f"{context.rules} {context.admission}"
    pending = range_of(ledger, record.source)
    if pending is not None and (pending.version, pending.commit) == (version, cursor.commit):
        asked = asked.joined(pending.bounds)
        if pending.bounds == asked:
            return True
    since, until = text_of(asked.first), text_of(asked.last)
    at = RangeCursor(version, "commits", since=since, until=until, commit=cursor.commit)
    put_range(ledger, record.source, at)
    listener().expect(record.source, None)
    return True


def upsert_range(context: RepoContext, *, allow_mass_delete: bool = False) -> RangeAcknowledgement:
    """One step: a batch of commits, or the deletes. The repository's own cursor does not move.

    Raises:
        WritesNotAcknowledged: the store did not confirm everything.
        TooManyDeletes: see ``check_deletes``.
        UnknownCommit: the remote dropped the held commit, and the mirror is new.
    """
    record = context.store.ledger.record(context.listed.source)
    at = range_of(context.store.ledger, record.source)
    if at is None:
        raise NoRunBegun(record.source)
    if at.version != f"{context.rules} {context.admission}" or at.commit != record.cursor.commit:
        raise SettingsChanged(record.source)
    in_flight.undo(context.store, record.source)
    context.repository.fetch(at.commit)
    wanted = context.settings.forge.commit_messages
    commits = context.repository.commit_ids([at.commit], []) if wanted else []
    if at.phase == "commits" and commits:
        return _commits(context, record, at, commits)
    held = context.store.writer.stored(record.source)
    known = frozenset(commits)
    stale = [each.id for each in held if each.kind == "commit" and each.commit not in known]
    stored = context.store.writer.count(record.source)
    check_deletes(record.source, stale, stored, allowed=allow_mass_delete or not wanted)
    nothing = Acknowledgement(record.source, record.cursor, record.cursor)
    step = _deleted(context, record, stale, nothing)
    return RangeAcknowledgement(step, at, replace(at, phase=None))


def _commits(
    context: RepoContext, record: SourceRecord, at: RangeCursor, commits: Sequence[str]
) -> RangeAcknowledgement:
    everything = frozenset(commits)
    plan = Plan(Tree(()), {}, (), tuple(commits), frozenset(), everything, whole=True)
    place = RepoCursor(targets=(at.commit,), position=Position("commits", done=at.done))
    step = next_commits(context, plan, place, lambda each: at.bounds.holds(each.authored_at))
    written = write(context, record, plan, step)
    right = {each.id for each in step.passages}
    held = context.store.writer.stored(record.source, commits=step.commits)
    stale = sorted(each.id for each in held if each.id not in right)
    done = _deleted(context, record, stale, replace(written, after=record.cursor))
    last = step.next.phase == "deletes"
    after = replace(at, phase="deletes") if last else replace(at, done=step.next.done)
    return RangeAcknowledgement(done, at, after)


def _deleted(
    context: RepoContext, record: SourceRecord, stale: Sequence[str], step: Acknowledgement
) -> Acknowledgement:
    """The step with what it deletes; new passages were acknowledged before (spec 2.4)."""
    gone = in_flight.delete(context.store, record.source, stale)
    confirmed = Confirmation.of(stale, gone)
    counts = step.counts + Counts(deleted=len(confirmed.acknowledged))
    return replace(step, deletes=confirmed, counts=counts)
