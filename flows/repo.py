"""The chain of one repository: begin, then upsert → commit_cursor until it is caught up."""

from flows.chain import until_caught_up
from flows.report import Outcome, Result, reported
from tasks.aim import Aim, aimed
from tasks.alone import alone
from tasks.domain.acknowledgement import Counts
from tasks.errors import LeaseLost, NameClash, SourceNotListed
from tasks.runtime import flow
from tasks.steps import begin_repo, mark_failed, reason_of, upsert_repo


@flow(name="refresh-repo", flow_run_name="repo:{name}", persist_result=False)
@reported("repo:{}")
def refresh_repo(
    name: str,
    *,
    from_start: bool = False,
    allow_mass_delete: bool = False,
    into: str = "",
    model: str = "",
) -> Outcome:
    """Brings one repository up to its tip (spec 1.2); ``into`` and ``model`` as in a room's."""
    with aimed(Aim(into, model)), alone(f"repo:{name}"):
        try:
            begun = begin_repo(name, from_start=from_start)
            counts = Counts()
            if begun.to_do:
                counts = until_caught_up(
                    lambda: upsert_repo.submit(name, allow_mass_delete=allow_mass_delete)
                )
        except (NameClash, SourceNotListed, LeaseLost):
            raise  # the record of that name, if there is one, is another's
        except Exception as error:
            mark_failed(f"repo:{name}", reason_of(error))
            raise
    result: Result = "done" if begun.to_do else "unchanged"
    return Outcome(begun.source, result, begun.target, counts)
