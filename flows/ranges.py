"""The chains of a backfill of a range: begin, then upsert → commit_range until it is done.

What cannot be put right in a range, because nothing vouches for what is held, is read by an
ordinary run instead.
"""

from flows.chain import until_caught_up
from flows.report import Outcome
from tasks.alone import alone
from tasks.domain.acknowledgement import Counts
from tasks.errors import LeaseLost, NameClash, OtherReader, RoomRefused, SourceNotListed
from tasks.range_steps import (
    begin_repo_range,
    begin_room_range,
    commit_range,
    upsert_repo_range,
    upsert_room_range,
)
from tasks.runtime import flow
from tasks.steps import begin_repo, mark_failed, reason_of, refuse_room, upsert_repo, upsert_room


@flow(name="backfill-room", flow_run_name="chat:{room}", persist_result=False)
def backfill_room(room: str, since: str, until: str, *, allow_mass_delete: bool = False) -> Outcome:
    """Puts right what is held of a room between two UTC times, "" for no bound.

    One that was never read is read back to ``since``, and up to now.
    """
    source = f"chat:{room}"
    with alone(source):
        try:
            return Outcome(
                source, "done", None, _room(room, since, until, allowed=allow_mass_delete)
            )
        except RoomRefused as refused:
            counts = refuse_room(room, refused.reason, lasting=refused.lasting)
            return Outcome(source, "removed", None, counts, str(refused))
        except (OtherReader, LeaseLost):
            raise  # what the ledger holds is not ours to mark
        except Exception as error:
            mark_failed(source, reason_of(error))
            raise


def _room(room: str, since: str, until: str, *, allowed: bool) -> Counts:
    if begin_room_range(room, since, until):
        return until_caught_up(
            lambda: upsert_room_range.submit(room, allow_mass_delete=allowed), commit_range
        )
    return until_caught_up(lambda: upsert_room.submit(room, allow_mass_delete=allowed))


@flow(name="backfill-repo", flow_run_name="repo:{name}", persist_result=False)
def backfill_repo(name: str, since: str, until: str, *, allow_mass_delete: bool = False) -> Outcome:
    """Puts right the commit messages written between two UTC times, "" for no bound.

    One that was never read is read whole.
    """
    source = f"repo:{name}"
    with alone(source):
        try:
            if begin_repo_range(name, since, until):
                counts = until_caught_up(
                    lambda: upsert_repo_range.submit(name, allow_mass_delete=allow_mass_delete),
                    commit_range,
                )
                return Outcome(source, "done", None, counts)
            begun = begin_repo(name, from_start=False)
            counts = Counts()
            if begun.to_do:
                counts = until_caught_up(
                    lambda: upsert_repo.submit(name, allow_mass_delete=allow_mass_delete)
                )
            return Outcome(source, "done", begun.target, counts)
        except (NameClash, SourceNotListed, LeaseLost):
            raise  # the record of that name, if there is one, is another's
        except Exception as error:
            mark_failed(source, reason_of(error))
            raise
