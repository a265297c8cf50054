"""Gives passages their vectors, embedding only texts that the store has no vector of (spec 5.4)."""

from collections.abc import Callable, Mapping, Sequence

from search.embedding import Embedder, Vector
from search.passage import Passage
from tasks.chat_ports import WindowIndex
from tasks.domain.batches import batched
from tasks.domain.windows import embedded_form
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
    fresh = _embedded(missing, {}, embedder, advance)
    pairs = [(passage, known.get(passage.digest) or _made(passage, fresh)) for passage in passages]
    return pairs, len(fresh), len(missing)


def vectorised_windows(
    passages: Sequence[Passage],
    index: WindowIndex,
    embedder: Embedder,
    replaced: Sequence[str],
) -> tuple[list[tuple[Passage, Vectors]], int, int]:
    """The same for windows of chat; how many texts were embedded, how many read back.

    Nothing is looked up but the passages that these replace: no text that was redacted can come
    back by its vector (spec 4.6). One more message embeds itself and the window that it joins.
    """
    held: dict[str, Vector] = {}
    for turns, vectors in index.held(replaced) if passages else ():
        held[embedded_form(turns)] = list(vectors.window)
        for turn, part in zip(turns, vectors.parts, strict=True):
            held[embedded_form([turn])] = list(part)
    wanted = {text for passage in passages for text in (passage.window, *passage.parts)}
    known = {text: vector for text, vector in held.items() if text in wanted}
    fresh = _embedded(passages, known, embedder, lambda _: None)
    vectors_of = known | fresh
    return [(passage, _made(passage, vectors_of)) for passage in passages], len(fresh), len(known)


def _embedded(
    passages: Sequence[Passage],
    known: Mapping[str, Vector],
    embedder: Embedder,
    advance: Callable[[float], None],
) -> dict[str, Vector]:
    texts = sorted(
        {text for passage in passages for text in (passage.window, *passage.parts)} - known.keys(),
        key=lambda text: (len(text), text),
    )
    fresh: dict[str, Vector] = {}
    for some in batched(texts, AT_ONCE):
        fresh.update(zip(some, embedder.embed(some, "document"), strict=True))
        advance(len(some) / len(texts))
    if not texts:
        advance(1)
    return fresh


def _made(passage: Passage, vectors: Mapping[str, Vector]) -> Vectors:
    return Vectors(vectors[passage.window], [vectors[part] for part in passage.parts])
