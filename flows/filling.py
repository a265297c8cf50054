"""Filling the collection of a rebuild, and putting it in the old one's place (spec 2.5)."""

from collections.abc import Callable

from flows.report import Outcome
from search.errors import HuginnError
from tasks.aim import Aim
from tasks.alone import rebuilding
from tasks.domain.acknowledgement import Counts
from tasks.domain.rebuilds import Rebuild
from tasks.errors import SourceBusy
from tasks.steps import finish_rebuild, share_purges

PASSES = 3
"""So often the sources are gone through, so that little has happened since when it takes over."""


def filled(rebuild: Rebuild, one_pass: Callable[[Aim], list[Outcome]]) -> list[Outcome]:
    """Goes through all sources until there is no more news, then switches.

    The outcome of the rebuild itself comes last, as the source ``rebuild:<collection>``, with the
    counts of all passes; before it those of sources that failed.
    """
    name = f"rebuild:{rebuild.collection}"
    counts = Counts()
    failed: list[Outcome] = []
    try:
        with rebuilding():
            for _ in range(PASSES):
                share_purges(rebuild.collection)
                outcomes = one_pass(Aim(rebuild.collection))
                failed = [each for each in outcomes if each.result == "failed"]
                for each in outcomes:
                    counts += each.counts
                if not any(each.result == "done" for each in outcomes):
                    break
            finish_rebuild(rebuild.collection)
    except SourceBusy:
        reason = "another run is at work on it"
        return [Outcome(name, "unchanged", rebuild.collection, reason=reason)]
    except HuginnError as error:
        return [*failed, Outcome(name, "failed", rebuild.collection, counts, str(error))]
    return [*failed, Outcome(name, "done", rebuild.collection, counts, rebuild.reason)]
