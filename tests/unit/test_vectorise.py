"""Passages get their vectors; no text is embedded twice (spec 5.4)."""

from dataclasses import replace

from tasks.ports import Vectors
from tasks.vectorise import AT_ONCE, vectorised
from tests.support.fakes import (
    FakeEmbedder,
    FakePassageWriter,
    file_passage,
    vector_of,
    vectors_for,
)


def test_each_passage_gets_the_vectors_of_its_own_texts_in_the_order_given() -> None:
    long = replace(file_passage("whole"), parts=("first part", "second part"))
    short = file_passage("short", "b.md")
    pairs, texts, passages = vectorised([long, short], FakePassageWriter(), FakeEmbedder())
    assert pairs == [
        (
            long,
            Vectors(vector_of("whole"), [vector_of("first part"), vector_of("second part")]),
        ),
        (short, vectors_for("short")),
    ]
    assert (texts, passages) == (4, 2)


def test_texts_are_embedded_as_documents() -> None:
    embedder = FakeEmbedder()
    vectorised([file_passage("text")], FakePassageWriter(), embedder)
    assert embedder.sides == ["document"]


def test_equal_texts_are_embedded_once() -> None:
    embedder = FakeEmbedder()
    passages = [file_passage("same", f"{number}.md") for number in range(3)]
    pairs, texts, embedded = vectorised(passages, FakePassageWriter(), embedder)
    assert (embedder.texts, texts, embedded) == (["same"], 1, 3)
    assert [vectors for _, vectors in pairs] == [vectors_for("same")] * 3


def test_what_the_store_has_a_vector_of_is_not_embedded_whatever_its_source() -> None:
    store = FakePassageWriter()
    held = Vectors([0.5] * 4, [[0.25] * 4])
    store.write([(file_passage("same", repo="another"), held)])
    embedder = FakeEmbedder()
    passages = [file_passage("same", "renamed.md"), file_passage("new")]
    pairs, texts, embedded = vectorised(passages, store, embedder)
    assert (embedder.texts, texts, embedded) == (["new"], 1, 1)
    assert [vectors for _, vectors in pairs] == [held, vectors_for("new")]


def test_a_text_that_is_stored_with_other_parts_is_embedded() -> None:
    store = FakePassageWriter()
    store.write([(file_passage("whole"), vectors_for("whole"))])
    other = replace(file_passage("whole"), parts=("who", "le"))
    ((_, vectors),), _, _ = vectorised([other], store, FakeEmbedder())
    assert vectors == Vectors(vector_of("whole"), [vector_of("who"), vector_of("le")])


def test_many_texts_are_embedded_batch_by_batch_and_told() -> None:
    told: list[float] = []
    passages = [file_passage(f"text {number}", f"{number}.md") for number in range(AT_ONCE + 1)]
    embedder = FakeEmbedder()
    pairs, texts, _ = vectorised(passages, FakePassageWriter(), embedder, told.append)
    assert told == [AT_ONCE / (AT_ONCE + 1), 1 / (AT_ONCE + 1)]
    assert texts == AT_ONCE + 1
    assert [vectors for _, vectors in pairs] == [vectors_for(p.window) for p in passages]
    assert embedder.texts == sorted(embedder.texts, key=len)


def test_e08_texts_go_to_the_model_by_length_and_their_vectors_come_in_the_order_given() -> None:
    """A batch is padded to its longest text: short ones among long ones cost as much as those."""
    words = ["long " * (40 + n) if n % 101 == 50 else f"short {n}" for n in range(1_010)]
    passages = [file_passage(text, f"{number}.md") for number, text in enumerate(words)]
    embedder = FakeEmbedder()
    pairs, _, _ = vectorised(passages, FakePassageWriter(), embedder)
    lengths = [len(text) for text in embedder.texts]
    assert lengths == sorted(lengths)
    assert [passage for passage, _ in pairs] == passages
    assert [vectors for _, vectors in pairs] == [vectors_for(text) for text in words]


def test_no_passages_ask_nobody() -> None:
    embedder = FakeEmbedder()
    assert vectorised([], FakePassageWriter(), embedder) == ([], 0, 0)
    assert embedder.texts == []


def test_work_that_needed_no_model_is_told_as_done() -> None:
    store = FakePassageWriter()
    store.write([(file_passage("same"), vectors_for("same"))])
    told: list[float] = []
    vectorised([file_passage("same", "b.md")], store, FakeEmbedder(), told.append)
    assert sum(told) == 1
