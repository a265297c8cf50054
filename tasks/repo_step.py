"""One step of a repository's run: what it looked at, what came of it, where to go on."""

from dataclasses import dataclass, field

from search.ledger import Position
from search.passage import Passage
from tasks.domain.acknowledgement import Counts
from tasks.repo_plan import Plan


@dataclass(frozen=True, slots=True)
class Step:
    """``paths`` and ``commits`` were looked at, skipped ones too; ``passages`` came of them."""

    next: Position
    paths: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    counts: Counts = field(default_factory=Counts)


def after_files(plan: Plan) -> Position:
    """Where to go on when all files are done."""
    return Position("commits") if plan.commits else Position("deletes")


def first_position(plan: Plan) -> Position:
    """Where a run starts."""
    return Position("files") if plan.paths else after_files(plan)
