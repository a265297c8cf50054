"""Gives passages their vectors, embedding only texts that the store has no vector of (spec 5.4)."""

from collections.abc import Callable, Sequence

from search.embedding import Embedder, Vector
from search.passage import Passage
from tasks.domain.batches import batched
from tasks.ports import PassageWriter, Vectors

AT_ONCE = 256
"""Texts per call of the embedder: enough to sort by length, few enough to show progress."""


def vectorised(
    passages: Sequence[Passage],
    writer: PassageWriter,
    embedder: Embedder,
    advance: Callable[[float], None] = lambda _: None,
) -> tuple[list[tuple[Passage, Vectors]], int, int]:
    """Each passage with its vectors; how many texts were embedded, for how many passages.

    ``advance`` hears which share of the work each batch was, 1 in all. Equal texts are embedded
    once.
    """
    known = writer.vectors([passage.digest for passage in passages]) if passages else {}
    missing = [passage for passage in passages if passage.digest not in known]
    texts = sorted(
        {text for passage in missing for text in (passage.window, *passage.parts)},
        key=lambda text: (len(text), text),
    )
    fresh: dict[str, Vector] = {}
    for some in batched(texts, AT_ONCE):
        fresh.update(zip(some, embedder.embed(some, "document"), strict=True))
        advance(len(some) / len(texts))
    if not texts:
        advance(1)
    pairs = [(passage, known.get(passage.digest) or _made(passage, fresh)) for passage in passages]
    return pairs, len(texts), len(missing)


def _made(passage: Passage, fresh: dict[str, Vector]) -> Vectors:
    return Vectors(fresh[passage.window], [fresh[part] for part in passage.parts])
