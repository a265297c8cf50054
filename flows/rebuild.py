"""``rebuild``: another collection is filled from the sources and takes the old one's place."""

from flows.refresh import serve
from flows.report import Outcome, publish
from tasks.runtime import flow
from tasks.steps import begin_rebuild


@flow(name="rebuild", persist_result=False)
def rebuild(*, erase: bool = False, allow_mass_delete: bool = False) -> list[Outcome]:
    """Reads everything anew into another collection, beside the live one, and switches.

    Look-ups go on meanwhile, and the live collection goes on being refreshed. Killed, it goes on
    with the next refresh. With ``erase`` nothing of the old one is taken over (spec 2.5, 7.4).

    Raises:
        SourcesFailed: names each source that failed.
    """
    begin_rebuild(erase=erase)
    return publish(serve(allow_mass_delete=allow_mass_delete))
