"""The collection as the real server has it: schema, keys, refusals."""

import uuid

import pytest
from weaviate.classes.config import DataType, Property, Tokenization
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter

from search.collection import PROPERTIES, ledger_name
from search.connection import connect, mapped_errors
from search.errors import CollectionMismatch, CollectionMissing, ServerRefused
from search.reader import Reader
from search.settings import Settings
from tasks.adapters.collections import check_collection, ensure_collection
from tasks.adapters.passage_writer import WeaviatePassageWriter
from tests.support.fakes import META, file_passage, vectors_for


def test_the_key_that_search_uses_may_read_and_is_refused_every_write(
    server_settings: Settings, collection_name: str
) -> None:
    passage = file_passage("words")
    with connect(server_settings, "writer") as client:
        name = ensure_collection(client, collection_name, META)
        WeaviatePassageWriter(client, name).write([(passage, vectors_for("words"))])
    with connect(server_settings, "reader") as client:
        collection = client.collections.get(name)
        assert collection.query.fetch_object_by_id(passage.id) is not None
        for write in (
            lambda: collection.data.insert({"text": "x"}),
            lambda: collection.data.insert_many([DataObject(uuid=uuid.uuid4(), properties={})]),
            lambda: collection.data.update(passage.id, {"text": "x"}),
            lambda: collection.data.delete_by_id(passage.id),
            lambda: collection.data.delete_many(where=Filter.by_id().equal(passage.id)),
            lambda: client.collections.delete(name),
            lambda: client.alias.delete(alias_name=collection_name),
            lambda: client.collections.get(ledger_name(collection_name)).data.insert({}),
        ):
            with pytest.raises(ServerRefused), mapped_errors("write"):
                write()
        assert collection.query.fetch_object_by_id(passage.id) is not None


def test_the_schema_is_the_declared_one(server_settings: Settings, collection_name: str) -> None:
    with connect(server_settings, "writer") as client:
        name = ensure_collection(client, collection_name, META)
        config = client.collections.get(name).config.get()
        assert ensure_collection(client, collection_name, META) == name
    assert [found.name for found in config.properties] == [each.name for each in PROPERTIES]
    for found, declared in zip(config.properties, PROPERTIES, strict=True):
        if declared.type.startswith("text"):
            is_analysed = declared.index == "keywords"
            expected = Tokenization.WHITESPACE if is_analysed else Tokenization.FIELD
            assert found.tokenization == expected, declared.name
    assert set(config.vector_config or {}) == {"window", "parts"}
    assert config.inverted_index_config.stopwords.preset.value == "none"


def test_w31_an_undeclared_property_is_refused(
    server_settings: Settings, collection_name: str
) -> None:
    with connect(server_settings, "writer") as client:
        name = ensure_collection(client, collection_name, META)
        with pytest.raises(ServerRefused), mapped_errors("write"):
            client.collections.get(name).data.insert_many(
                [DataObject(uuid=uuid.uuid4(), properties={"undeclared": "x"})]
            )
        assert not any(
            found.name == "undeclared"
            for found in client.collections.get(name).config.get().properties
        )


def test_a_collection_of_another_model_is_refused_with_what_differs(
    server_settings: Settings, collection_name: str
) -> None:
    from dataclasses import replace

    with connect(server_settings, "writer") as client:
        name = ensure_collection(client, collection_name, META)
        with pytest.raises(CollectionMismatch, match=r"dimensions: 4, not 8"):
            check_collection(client, collection_name, name, replace(META, dimensions=8))
        renamed = replace(META, embedder="a folder with the same weights")
        check_collection(client, collection_name, name, renamed)


def test_a_collection_that_huginn_did_not_make_is_left_alone(
    server_settings: Settings, collection_name: str
) -> None:
    with connect(server_settings, "writer") as client:
        client.collections.create(
            collection_name, properties=[Property(name="title", data_type=DataType.TEXT)]
        )
        with pytest.raises(CollectionMismatch, match="did not make"):
            ensure_collection(client, collection_name, META)


def test_w31_a_collection_whose_ids_are_matched_by_word_is_refused_at_the_start(
    server_settings: Settings, collection_name: str
) -> None:
    """As a server with automatic schemas makes it when data is put back without its schema."""
    with connect(server_settings, "writer") as client:
        name = ensure_collection(client, collection_name, META)
        client.collections.delete(name)
        client.collections.create(
            name,
            properties=[
                Property(name=each.name, data_type=DataType(each.type)) for each in PROPERTIES
            ],
        )
        with pytest.raises(CollectionMismatch, match=r"not matched whole: corpus, source, .*path"):
            check_collection(client, collection_name, name, META)


def test_w01_one_bad_object_among_many_is_not_acknowledged(
    server_settings: Settings, collection_name: str
) -> None:
    good = [file_passage(f"text {n}", f"{n}.md") for n in range(99)]
    bad = file_passage("bad", "bad.md")
    with connect(server_settings, "writer") as client:
        writer = WeaviatePassageWriter(client, ensure_collection(client, collection_name, META))
        pairs = [(each, vectors_for(each.window)) for each in good]
        writer.write(pairs[:1])
        wrong = vectors_for("bad")
        object.__setattr__(wrong, "window", [1.0, 2.0])  # another number of dimensions
        acknowledged = writer.write([*pairs, (bad, wrong)])
    assert acknowledged == {each.id for each in good}


def test_w05_more_deletes_than_the_server_answers_with_leave_nothing(
    server_settings: Settings, collection_name: str
) -> None:
    passages = [file_passage(f"{n}", f"{n}.md") for n in range(10_500)]
    with connect(server_settings, "writer") as client:
        writer = WeaviatePassageWriter(client, ensure_collection(client, collection_name, META))
        writer.write((each, vectors_for(each.window)) for each in passages)
        listed = [each.id for each in writer.stored("repo:one")]
        assert len(listed) == len(set(listed)) == 10_500
        assert writer.delete(listed) == set(listed)
        assert writer.count("repo:one") == 0
        assert list(writer.stored("repo:one")) == []


def test_a_collection_that_was_deleted_by_hand_is_made_anew(
    server_settings: Settings, collection_name: str
) -> None:
    with connect(server_settings, "writer") as client:
        lost = ensure_collection(client, collection_name, META)
        client.collections.delete(lost)
        with pytest.raises(CollectionMissing):
            Reader(client, collection_name).resolve()
        made = ensure_collection(client, collection_name, META)
        assert made != lost
        assert Reader(client, collection_name).resolve().name == made


def test_a_lost_alias_is_pointed_at_what_was_there_and_half_made_ones_go(
    server_settings: Settings, collection_name: str
) -> None:
    half_made = f"{collection_name}_0123abcd"
    with connect(server_settings, "writer") as client:
        name = ensure_collection(client, collection_name, META)
        client.alias.delete(alias_name=collection_name)
        client.collections.create(half_made)
        assert ensure_collection(client, collection_name, META) == name
        assert not client.collections.exists(half_made)
