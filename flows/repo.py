"""The chain of one repository: begin, then upsert → commit_cursor until it is caught up."""

from flows.report import Outcome, Result
from tasks.alone import alone
from tasks.domain.acknowledgement import Counts
from tasks.errors import NameClash, SourceNotListed
from tasks.runtime import flow
from tasks.steps import begin_repo, commit_cursor, mark_failed, reason_of, upsert_repo


@flow(name="refresh-repo", flow_run_name="repo:{name}", persist_result=False)
def refresh_repo(
    name: str, *, from_start: bool = False, allow_mass_delete: bool = False
) -> Outcome:
    """Brings one repository up to its tip (spec 1.2).

    A step's cursor commit takes the acknowledgement of its upsert as input: when the upsert
    fails, Prefect never runs the commit.
    """
    try:
        with alone(f"repo:{name}"):
            begun = begin_repo(name, from_start=from_start)
            counts = Counts()
            caught_up = not begun.to_do
            while not caught_up:
                acknowledgement = upsert_repo.submit(name, allow_mass_delete=allow_mass_delete)
                committed = commit_cursor.submit(acknowledgement)  # type: ignore[call-overload]
                committed.wait()
                counts += acknowledgement.result().counts
                caught_up = committed.result()
    except (NameClash, SourceNotListed):
        raise  # the record of that name, if there is one, is another source's
    except Exception as error:
        mark_failed(f"repo:{name}", reason_of(error))
        raise
    result: Result = "done" if begun.to_do else "unchanged"
    return Outcome(begun.source, result, begun.target, counts)
