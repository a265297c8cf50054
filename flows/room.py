"""The chain of one room: begin, then upsert → commit_cursor until it is caught up."""

from flows.chain import until_caught_up
from flows.report import Outcome, reported
from tasks.aim import Aim, aimed
from tasks.alone import alone
from tasks.errors import LeaseLost, OtherReader, RoomRefused
from tasks.runtime import flow
from tasks.steps import begin_room, mark_failed, reason_of, refuse_room, upsert_room


@flow(name="refresh-room", flow_run_name="chat:{room}", persist_result=False)
@reported("chat:{}")
def refresh_room(
    room: str,
    *,
    from_start: bool = False,
    allow_mass_delete: bool = False,
    into: str = "",
    model: str = "",
) -> Outcome:
    """Brings one room up to now; one that may not be read is removed (spec 1.2, 3.5).

    ``into`` and ``model`` are those of ``tasks.aim.Aim``: a rebuild's run works on another
    collection than the live one.
    """
    source = f"chat:{room}"
    with aimed(Aim(into, model)), alone(source):
        try:
            return _read(room, from_start=from_start, allow_mass_delete=allow_mass_delete)
        except (OtherReader, LeaseLost):
            raise  # what the ledger holds is not ours to mark
        except Exception as error:
            mark_failed(source, reason_of(error))
            raise


def _read(room: str, *, from_start: bool, allow_mass_delete: bool) -> Outcome:
    try:
        begin_room(room, from_start=from_start)
        counts = until_caught_up(
            lambda: upsert_room.submit(room, allow_mass_delete=allow_mass_delete)
        )
    except RoomRefused as refused:
        counts = refuse_room(room, refused.reason, lasting=refused.lasting)
        return Outcome(f"chat:{room}", "removed", None, counts, str(refused))
    return Outcome(f"chat:{room}", "done", None, counts)
