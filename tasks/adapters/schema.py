"""Makes the collections, and refuses ones that do not have the declared form (W31)."""

import re
import uuid
from typing import TYPE_CHECKING

from search.collection import (
    LEDGER_PROPERTIES,
    PARTS_VECTOR,
    PROPERTIES,
    WINDOW_VECTOR,
    CollectionMeta,
    Property,
    ledger_name,
)
from search.connection import mapped_errors
from search.errors import CollectionMismatch
from tasks.adapters.ledger import WeaviateLedger

if TYPE_CHECKING:
    from weaviate import WeaviateClient
    from weaviate.collections.classes.config import Property as TheirProperty

BM25_K1, BM25_B = 0.9, 0.6
"""A term that is said again counts little more: a window repeats names (docs/quality.md)."""


def ensure_collection(client: "WeaviateClient", alias: str, meta: CollectionMeta) -> str:
    """The real name of the collection behind ``alias``, made first if it is missing.

    Raises:
        CollectionMismatch: it was made with another model, schema or text analysis, or by
            something that is not Huginn.
    """
    with mapped_errors("make the collection"):
        if not client.collections.exists(ledger_name(alias)):
            _create(client, ledger_name(alias), LEDGER_PROPERTIES, vectors=False)
        pointed = (
            client.alias.get(alias_name=alias) if client.alias.exists(alias_name=alias) else None
        )
        if pointed is None and client.collections.exists(alias):
            raise CollectionMismatch(
                f"Weaviate has a collection named {alias} that Huginn did not make. "
                "Set weaviate.collection to another name."
            )
        if pointed is None or not client.collections.exists(pointed.collection):
            return _pointed_anew(client, alias, meta, missing=pointed is None)
    _check(client, alias, pointed.collection, meta)
    return pointed.collection


def _pointed_anew(
    client: "WeaviateClient", alias: str, meta: CollectionMeta, *, missing: bool
) -> str:
    """Points the alias at a collection: one that was made before it was lost, else a new one.

    What was made and never got its meta was killed half-way and holds nothing: it goes.
    """
    name = None
    for found in sorted(client.collections.list_all(simple=True)):
        if not re.fullmatch(rf"{alias}_[0-9a-f]{{8}}", found):
            continue
        made_with = WeaviateLedger(client, alias, found).meta()
        if made_with is None:
            client.collections.delete(found)
        elif not made_with.differences(meta):
            name = found
    if name is None:
        name = f"{alias}_{uuid.uuid4().hex[:8]}"
        _create(client, name, PROPERTIES, vectors=True)
        WeaviateLedger(client, alias, name).put_meta(meta)
    if missing:
        client.alias.create(alias_name=alias, target_collection=name)
    else:
        client.alias.update(alias_name=alias, new_target_collection=name)
    return name


def _check(client: "WeaviateClient", alias: str, name: str, meta: CollectionMeta) -> None:
    stored = WeaviateLedger(client, alias, name).meta()
    if stored is None:
        raise CollectionMismatch(
            f"The ledger does not know the collection {name} that {alias} points at. "
            "Restore both together, or set weaviate.collection to another name."
        )
    differences = stored.differences(meta)
    with mapped_errors("read the schema"):
        config = client.collections.get(name).config.get()
    declared = {declared.name for declared in PROPERTIES}
    actual = {found.name: found for found in config.properties}
    missing = sorted(declared - actual.keys())
    if missing:
        differences.append(f"properties missing: {', '.join(missing)}")
    loose = [
        declared.name
        for declared in PROPERTIES
        if declared.index == "exact"
        and declared.name in actual
        and str(actual[declared.name].tokenization).lower().rpartition(".")[2] != "field"
    ]
    if loose:
        differences.append(f"ids that are not matched whole: {', '.join(loose)}")
    if differences:
        raise CollectionMismatch(
            f"The collection {name} was made otherwise ({'; '.join(differences)}). "
            "Set weaviate.collection to another name and run `huginn refresh`: it makes a new one."
        )


def _create(
    client: "WeaviateClient", name: str, properties: tuple[Property, ...], *, vectors: bool
) -> None:
    from weaviate.classes.config import Configure, StopwordsPreset

    client.collections.create(
        name,
        properties=[_declared(item) for item in properties],
        inverted_index_config=Configure.inverted_index(
            bm25_k1=BM25_K1, bm25_b=BM25_B, stopwords_preset=StopwordsPreset.NONE
        ),
        vector_config=[
            Configure.Vectors.self_provided(name=WINDOW_VECTOR),
            Configure.MultiVectors.self_provided(name=PARTS_VECTOR),
        ]
        if vectors
        else Configure.Vectors.self_provided(vector_index_config=Configure.VectorIndex.flat()),
    )


def _declared(item: Property) -> "TheirProperty":
    from weaviate.classes.config import DataType, Property, Tokenization

    is_text = item.type.startswith("text")
    keywords = item.index == "keywords"
    return Property(
        name=item.name,
        data_type=DataType(item.type),
        tokenization=(Tokenization.WHITESPACE if keywords else Tokenization.FIELD)
        if is_text
        else None,
        index_filterable=item.index == "exact",
        index_searchable=keywords if is_text else None,
        index_range_filters=True if item.index == "range" else None,
    )
