"""The ports PassageWriter and Ledger: one suite over the fake and the real adapter."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from search.collection import CollectionMeta, fingerprint_of
from search.connection import connect
from search.ledger import Position, RepoCursor, SourceRecord
from search.passage import Passage, digest_of, passage_id
from tasks.ports import Ledger, PassageWriter, Vectors
from tests.support.fakes import META, FakeLedger, FakePassageWriter, file_passage, vectors_for

Store = tuple[PassageWriter, Ledger]


@pytest.fixture(params=["fake", "real"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "fake":
        yield FakePassageWriter(), FakeLedger()
        return
    from tasks.adapters.collections import ensure_collection
    from tasks.adapters.ledger import WeaviateLedger
    from tasks.adapters.passage_writer import WeaviatePassageWriter

    settings = request.getfixturevalue("server_settings")
    alias = request.getfixturevalue("collection_name")
    with connect(settings, "writer") as client:
        name = ensure_collection(client, alias, META)
        yield WeaviatePassageWriter(client, name), WeaviateLedger(client, alias, name)


def write(writer: PassageWriter, *passages: Passage) -> set[str]:
    return writer.write((passage, vectors_for(passage.window)) for passage in passages)


def ids(writer: PassageWriter, source: str) -> set[str]:
    return {each.id for each in writer.stored(source)}


def test_what_was_written_is_acknowledged_and_listed_with_its_fingerprint(store: Store) -> None:
    writer, _ = store
    one, two = file_passage("one"), file_passage("two", "b.md")
    assert write(writer, one, two) == {one.id, two.id}
    stored = {each.id: each for each in writer.stored("repo:one")}
    assert stored[one.id].fingerprint == fingerprint_of(one)
    assert (stored[two.id].path, stored[two.id].blob) == ("b.md", two.blob)
    assert writer.count("repo:one") == 2


def test_what_is_expunged_is_gone_whether_it_was_there_or_not(store: Store) -> None:
    writer, _ = store
    one, two, three = (file_passage(word, f"{word}.md") for word in ("one", "two", "three"))
    write(writer, one, two)
    writer.expunge([one.id, three.id])
    assert ids(writer, "repo:one") == {two.id}
    assert write(writer, one) == {one.id}


def test_w21_writing_twice_holds_once_in_the_newer_form(store: Store) -> None:
    writer, _ = store
    write(writer, file_passage("old words"))
    newer = file_passage("new words")
    assert write(writer, newer) == {newer.id}
    (stored,) = writer.stored("repo:one")
    assert stored.fingerprint == fingerprint_of(newer)


def test_w03_passages_from_a_generator_are_all_stored(store: Store) -> None:
    writer, _ = store
    passages = [file_passage(f"text {n}", part=n) for n in range(450)]
    acknowledged = writer.write((each, vectors_for(each.window)) for each in passages)
    assert acknowledged == {each.id for each in passages} == ids(writer, "repo:one")


def test_w08_sources_whose_names_share_words_are_kept_apart(store: Store) -> None:
    writer, _ = store
    write(writer, file_passage("x", repo="core"), file_passage("y", repo="core-ui"))
    write(writer, file_passage("z", repo="ui core"), file_passage("u", repo="Core"))
    assert writer.count("repo:core") == 1
    assert len(ids(writer, "repo:core")) == 1
    writer.delete(sorted(ids(writer, "repo:core")))
    assert [writer.count(f"repo:{name}") for name in ("core", "core-ui", "ui core", "Core")] == [
        *(0, 1, 1, 1)
    ]


def test_w18_equal_texts_in_two_places_are_two_passages(store: Store) -> None:
    writer, _ = store
    write(writer, file_passage("LGTM", "a.md"), file_passage("LGTM", "b.md"))
    assert writer.count("repo:one") == 2


def test_stored_can_be_asked_by_paths_and_by_commits(store: Store) -> None:
    writer, _ = store
    file = file_passage("file", "a b/ž.md")
    commit = replace(
        file_passage("message", ""),
        id=passage_id("commit", "one", "c1", 0),
        kind="commit",
        commit="c1",
        blob="",
        lines=None,
        authors=("Ada",),
        start=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    )
    write(writer, file, commit, file_passage("other", "other.md"))
    assert {each.id for each in writer.stored("repo:one", paths=["a b/ž.md", "none"])} == {file.id}
    assert {each.id for each in writer.stored("repo:one", commits=["c1", "c2"])} == {commit.id}
    both = writer.stored("repo:one", paths=["other.md"], commits=["c1"])
    assert len({each.id for each in both}) == 2
    assert list(writer.stored("repo:one", paths=[], commits=[])) == []
    assert list(writer.stored("repo:none")) == []


def test_vectors_are_found_by_digest_in_any_source_and_any_number(store: Store) -> None:
    writer, _ = store
    passages = [file_passage(f"text {n}", f"{n}.md", repo=f"r{n % 3}") for n in range(230)]
    write(writer, *passages)
    found = writer.vectors([each.digest for each in passages] + [digest_of("never written")])
    assert found.keys() == {each.digest for each in passages}
    expected = vectors_for("text 7")
    assert found[passages[7].digest].window == pytest.approx(expected.window, abs=1e-6)
    assert len(found[passages[7].digest].parts) == 1


def test_vectors_of_a_text_that_stands_in_many_places_hide_no_other(store: Store) -> None:
    writer, _ = store
    write(writer, *(file_passage("everywhere", f"{n:04}.md") for n in range(1_100)))
    rare = file_passage("rare", "rare.md")
    write(writer, rare)
    wanted = [digest_of("everywhere", "everywhere"), rare.digest]
    assert writer.vectors(wanted).keys() == set(wanted)


def test_deleted_passages_are_gone_and_unknown_ids_count_as_gone(store: Store) -> None:
    writer, _ = store
    one, two = file_passage("one"), file_passage("two", "b.md")
    write(writer, one, two)
    unknown = passage_id("file", "one", "never", 0)
    assert writer.delete([one.id, unknown]) == {one.id, unknown}
    assert ids(writer, "repo:one") == {two.id}


def test_parts_keep_their_order_and_number(store: Store) -> None:
    writer, _ = store
    passage = replace(file_passage("window"), parts=("a", "b", "c"))
    vectors = Vectors([1.0, 0, 0, 0], [[0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]])
    assert writer.write([(passage, vectors)]) == {passage.id}
    found = writer.vectors([passage.digest])[passage.digest]
    assert [list(part) for part in found.parts] == [list(part) for part in vectors.parts]


RECORD = SourceRecord(
    "repo:one",
    state="refreshing",
    cursor=RepoCursor(
        commit="c" * 40,
        targets=("d" * 40,),
        position=Position("files", after="docs/ž.md"),
        rules="r",
        admission="a",
    ),
    identity="https://example.org/one.git",
    last_success=datetime(2026, 1, 2, tzinfo=UTC),
)


def test_a_record_comes_back_as_it_was_put(store: Store) -> None:
    _, ledger = store
    ledger.put(RECORD)
    assert ledger.record("repo:one") == RECORD
    assert ledger.records() == {"repo:one": RECORD}


def test_records_of_sources_do_not_overwrite_one_another(store: Store) -> None:
    _, ledger = store
    other = replace(RECORD, source="repo:one-more", state="failed", reason="gone")
    ledger.put(RECORD)
    ledger.put(other)
    ledger.put(replace(RECORD, state="current"))
    assert ledger.record("repo:one-more") == other
    assert ledger.record("repo:one").state == "current"
    ledger.forget("repo:one")
    assert ledger.records() == {"repo:one-more": other}


def test_an_unknown_source_has_a_new_record(store: Store) -> None:
    _, ledger = store
    assert ledger.record("repo:unknown") == SourceRecord("repo:unknown")
    ledger.forget("repo:unknown")


def test_a_record_of_another_collection_is_not_ours(
    server_settings: object, collection_name: str
) -> None:
    from tasks.adapters.collections import ensure_collection
    from tasks.adapters.ledger import WeaviateLedger

    with connect(server_settings, "writer") as client:  # type: ignore[arg-type]
        name = ensure_collection(client, collection_name, META)
        WeaviateLedger(client, collection_name, name + "_before").put(RECORD)
        ledger = WeaviateLedger(client, collection_name, name)
        assert ledger.records() == {}
        assert ledger.meta() == META
        assert isinstance(ledger.meta(), CollectionMeta)
