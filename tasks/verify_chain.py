"""Runs a chain on a store that only records, for ``verify``; nothing is embedded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from search.embedding import Embedder, EmbedderIdentity, Side, Vector
from tasks.adapters.recording import Recording
from tasks.commit import commit
from tasks.context import Store
from tasks.domain.acknowledgement import Acknowledgement, Counts
from tasks.domain.verification import differences
from tasks.repos import Begun


class Unembedding(Embedder):
    """Counts tokens as the embedder ``of`` does, and never loads its model: no vector is needed."""

    def __init__(self, of: Embedder) -> None:
        self._of = of

    def embed(self, texts: Sequence[str], side: Side) -> list[Vector]:  # noqa: ARG002
        """A vector of no numbers for each text."""
        return [[] for _ in texts]

    def count_tokens(self, text: str) -> int:
        """See ``Embedder``."""
        return self._of.count_tokens(text)

    @property
    def identity(self) -> EmbedderIdentity:
        """See ``Embedder``."""
        return self._of.identity


@dataclass(frozen=True, slots=True)
class Sides:
    """``expected`` is what one clean run over the source gives.

    ``held`` is what is stored, or what the next run makes of it. ``behind`` says why those are not
    the same thing, None if they are.
    """

    expected: Recording
    held: Recording
    behind: str | None = None

    @property
    def differ(self) -> bool:
        """Whether anything does."""
        return next(differences(self.expected.prints(), self.held.prints()), None) is not None


def run(store: Store, begin: Callable[[], Begun], upsert: Callable[[], Acknowledgement]) -> Counts:
    """A whole chain; what it did."""
    counts = Counts()
    finished = not begin().to_do
    while not finished:
        acknowledgement = upsert()
        commit(store, acknowledgement)
        counts += acknowledgement.counts
        finished = acknowledgement.finished
    return counts
