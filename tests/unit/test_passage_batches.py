"""How passages go to the store: a few at a time, however many there are (spec 5.4)."""

from collections.abc import Iterator
from dataclasses import replace

from search.passage import Passage
from tasks.adapters.passage_writer import BATCH, BATCH_BYTES, sized_batches
from tasks.ports import Vectors
from tests.support.fakes import file_passage

VECTORS = Vectors([0.5] * 384, [[0.5] * 384])
SMALL = file_passage("a few words")


def test_w07_a_request_holds_so_many_passages_and_none_is_left_out() -> None:
    sizes = [len(batch) for batch in sized_batches((SMALL, VECTORS) for _ in range(60_000))]
    assert max(sizes) == BATCH
    assert sum(sizes) == 60_000


def test_w07_a_request_holds_so_many_bytes_and_at_least_one_passage() -> None:
    large = replace(SMALL, text="x" * (BATCH_BYTES // 3))
    huge = replace(SMALL, text="x" * (2 * BATCH_BYTES))
    texts = [[*map(_letters, batch)] for batch in sized_batches(_each([large] * 5 + [huge]))]
    assert [len(batch) for batch in texts] == [2, 2, 1, 1]
    assert all(sum(batch) <= BATCH_BYTES for batch in texts[:-1])


def test_w07_passages_are_taken_as_they_are_needed() -> None:
    taken = 0

    def passages() -> Iterator[tuple[Passage, Vectors]]:
        nonlocal taken
        while True:
            taken += 1
            yield SMALL, VECTORS

    assert len(next(sized_batches(passages()))) == BATCH
    assert taken == BATCH + 1


def _each(passages: list[Passage]) -> Iterator[tuple[Passage, Vectors]]:
    return ((passage, VECTORS) for passage in passages)


def _letters(pair: tuple[Passage, Vectors]) -> int:
    return len(pair[0].text)
